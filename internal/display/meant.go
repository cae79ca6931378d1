package display

// Meant are the commands of krunctl for words that people try.
var Meant = map[string]string{
	"list": "status --by key, or show", "ls": "status", "log": "show, or status --by key", "logs": "show",
	"diff": "compare", "pause": "hold", "continue": "resume", "unpause": "resume", "cancel": "stop",
	"abort": "stop", "kill": "stop", "validate": "check", "verify": "check", "lint": "check",
	"test": "check", "new": "init", "create": "init", "template": "init",
	"start": "run, or enable --start", "exec": "run", "bench": "run, or time",
	"benchmark": "run, or time", "measure": "run, or time", "results": "show, analyze or report",
	"stats": "show or analyze", "delete": "disable; the directory NAME.krun can be removed by rm -r",
	"remove": "disable; the directory NAME.krun can be removed by rm -r",
	"clean":  "disable; the directory NAME.krun can be removed by rm -r", "view": "report, or show",
	"graph": "report -o NAME.svg", "chart": "report -o NAME.svg", "html": "report", "csv": "convert --to csv",
	"info": "status or show", "progress": "status", "watch": "status --watch", "queue": "status",
	"plot-data": "convert --to csv", "regressions": "history", "regression": "history or compare",
	"why": "explain", "fix": "repair", "undo": "repair --machine", "again": "run --again",
	"how-many": "enough", "samples": "enough", "runs": "enough", "repetitions": "enough", "power": "enough",
	"share": "report, whose pages others can open; hub submit, for a hub of machines", "send": "hub submit",
	"retry": "run --again", "install": "enable, or hub join", "throttle": "show --counters",
}
