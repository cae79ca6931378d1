#compdef krund
# zsh completion of krund; krunctl has `krunctl completion zsh`
_krund() {
	local file='1:experiment:_files -g "*.toml"'
	if (( CURRENT == 2 )); then
		local -a commands=(
			'run:start or continue an experiment'
			'check:check the configuration and the machine'
			'census:measure what disturbs the processors'
			'version:print the version'
			'help:print the help'
		)
		_describe command commands
		return
	fi
	local command=$words[2]
	shift words
	(( CURRENT-- ))
	case $command in
	run)
		_arguments "$file" '--directory[directory of the experiment]:directory:_files -/' \
			'--reboot[restart before each execution]:mode:(hardware kexec soft none)' \
			'--quick[try the whole experiment without waits]' '--dry-run[print what would run]' \
			'--accept-changed[measure changed programs as a new edition]' \
			'--quiet[print only errors]' '--verbose[print debugging messages]' ;;
	check)
		_arguments "$file" '--reboot[judge a run with these restarts]:mode:(hardware kexec soft none)' \
			'--quick[judge a quick run]' '--json[print JSON]' '--try[run one iteration of each key]' ;;
	census)
		_arguments "$file" '--time[duration]:duration:' '--cpus[list of CPUs]:CPUs:' ;;
	esac
}
_krund "$@"
