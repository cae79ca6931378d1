package display

// Meant are the commands of krunctl for words that people try.
var Meant = map[string]string{
	"list": "status, or summary for a row per key", "ls": "status", "log": "show, or status --keys",
	"logs": "show", "diff": "compare", "pause": "hold", "continue": "resume", "unpause": "resume",
	"cancel": "stop", "abort": "stop", "kill": "stop", "validate": "check", "verify": "check",
	"lint": "check", "test": "check", "new": "init", "create": "init", "template": "init",
	"start": "run, or enable --start", "exec": "run", "bench": "run, or time",
	"benchmark": "run, or time", "measure": "run, or time", "results": "summary, analyze or report",
	"stats": "summary or analyze", "delete": "disable; the directory NAME.krun can be removed by rm -r",
	"remove": "disable; the directory NAME.krun can be removed by rm -r",
	"clean":  "disable; the directory NAME.krun can be removed by rm -r", "view": "report, or show",
	"graph": "plot or report", "chart": "plot or report", "html": "report", "csv": "export --csv",
	"info": "status or show", "progress": "status", "watch": "status --watch", "queue": "status",
	"plot-data": "export", "regressions": "history", "regression": "history or compare",
	"why": "explain", "enough": "plan --detect, or simulate", "fix": "repair", "undo": "restore",
}
