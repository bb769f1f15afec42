package main

import (
	"slices"
	"strings"
)

// nearEnough is how many letters a word may have wrong, missing or too many.
const nearEnough = 2

// near picks the names that were probably meant by word: those that differ in
// few letters, and those that begin or end with it or that it begins with.
func near(word string, names []string) (found []string) {
	for _, name := range names {
		switch {
		case word == "":
		case edits(word, name) <= nearEnough, len(word) > nearEnough && (strings.HasPrefix(name, word) || strings.HasSuffix(name, word)):
			found = append(found, name)
		}
	}
	slices.SortStableFunc(found, func(a, b string) int { return edits(word, a) - edits(word, b) })
	return found
}

// edits is Levenshtein's distance between two words.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
