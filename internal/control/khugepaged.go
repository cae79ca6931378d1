package control

import "krund/internal/config/setting"

const (
	khugepagedFile = thpDir + "/khugepaged/scan_sleep_millisecs"
	// the largest value of the file: the kernel then waits without end (mm/khugepaged.c of Linux
	// 6.1:2497, 6.12:2565; msecs_to_jiffies returns MAX_JIFFY_OFFSET for it)
	khugepagedNever = "4294967295"
)

// khugepaged lets the kernel thread khugepaged sleep. It cannot be switched off alone:
// pages_to_scan rejects 0 (mm/khugepaged.c of Linux 6.1:207). Each write to the file wakes it once,
// so it scans once more before the run.
var khugepaged = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "khugepaged", Policy: setting.Off,
		Brief: "no background merging into huge pages",
		Why: "a kernel thread scans the memory of programs and stops them while it merges their pages " +
			"into huge ones",
		What:  "`transparent_hugepage/khugepaged/scan_sleep_millisecs` = 4294967295",
		Notes: "programs still get huge pages when they first use memory, as `thp` permits",
	},
	targets: files(isNumber, khugepagedFile),
	plan: fixed(sysfile{path: khugepagedFile, want: khugepagedNever, unit: " ms",
		absent: "the kernel has no transparent huge pages"}.plan),
}
