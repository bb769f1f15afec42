package facts

import (
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Machine is the host that the load came from.
type Machine struct {
	CPU         string `json:"cpu"`
	Cores       int    `json:"cores"` // that this process may use
	MemoryBytes int64  `json:"memory_bytes"`
	System      string `json:"system"`
	Kernel      string `json:"kernel"`
	Platform    string `json:"platform"`
	// Virtual says what the machine runs in ("kvm", "docker", "a virtual
	// machine"), and is empty where nothing says that it runs in anything.
	Virtual string `json:"virtual,omitempty"`
}

// OfMachine reads the facts of this host.
func OfMachine() Machine {
	m := Machine{Cores: runtime.NumCPU(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info := text("/proc/cpuinfo")
	// x86 has "model name"; ARM has no name, but numbers of maker and part.
	m.CPU = field(info, "model name")
	if m.CPU == "" {
		m.CPU = strings.TrimSpace("implementer " + field(info, "CPU implementer") + " part " + field(info, "CPU part"))
		if field(info, "CPU part") == "" {
			m.CPU = ""
		}
	}
	if kb, err := strconv.ParseInt(strings.TrimSuffix(field(text("/proc/meminfo"), "MemTotal"), " kB"), 10, 64); err == nil {
		m.MemoryBytes = kb << 10
	}
	m.System = strings.Trim(assigned(text("/etc/os-release"), "PRETTY_NAME"), `"`)
	m.Kernel = strings.TrimSpace(text("/proc/sys/kernel/osrelease"))
	m.Virtual = virtual(info)
	return m
}

// virtual looks where the usual hosts leave their name.
func virtual(cpuinfo string) string {
	if _, err := os.Stat("/.dockerenv"); err == nil {
		return "docker"
	}
	product := strings.TrimSpace(text("/sys/class/dmi/id/sys_vendor") + " " + text("/sys/class/dmi/id/product_name"))
	for mark, name := range map[string]string{
		"QEMU": "kvm", "KVM": "kvm", "VMware": "vmware", "VirtualBox": "virtualbox",
		"Amazon EC2": "amazon ec2", "Google": "google compute engine", "Microsoft": "hyper-v", "Xen": "xen",
	} {
		if strings.Contains(product, mark) {
			return name
		}
	}
	for _, flag := range strings.Fields(field(cpuinfo, "flags")) {
		if flag == "hypervisor" {
			return "a virtual machine"
		}
	}
	return ""
}

// text is a file's contents, or "" if it cannot be read.
func text(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(b)
}

// field finds "name : value" in the files of /proc; the first one counts.
func field(text, name string) string {
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// assigned finds NAME=value.
func assigned(text, name string) string {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name+"="); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
