// Package report draws results of ringmain bench as one page of HTML that
// needs nothing else: no script, no font, no picture from anywhere.
//
// It draws what it is given and computes nothing that a reader could argue
// with: figures come from the result documents, verdicts from package perf. It
// keeps no state; Write may be called from anywhere.
//
// A page is made in three steps, each in files of its own: documents become the
// rows and curves of a Page (page.go), curves become coordinates (chart.go over
// scale.go), and page.html lays both out. style.css holds everything that
// depends on the reader: light or dark, wide or narrow, screen or paper.
//
// All texts pass through html/template, so that a topic's or a host's name can
// not put anything into the page.
//
// Start reading at page.go.
package report
