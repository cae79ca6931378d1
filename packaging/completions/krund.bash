# bash completion of krund; krunctl has `krunctl completion bash`
_krund() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words=""
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		words="run check census version help"
	elif [[ $before == --reboot ]]; then
		words="hardware kexec soft none"
	elif [[ $before == --directory ]]; then
		mapfile -t COMPREPLY < <(compgen -d -- "$word")
		return
	elif [[ $before == --time || $before == --cpus ]]; then
		return
	elif [[ $word == -* ]]; then
		case ${COMP_WORDS[1]} in
		run) words="--directory --reboot --quick --dry-run --accept-changed --quiet --verbose" ;;
		check) words="--reboot --quick --json --try" ;;
		census) words="--time --cpus" ;;
		esac
	else
		mapfile -t COMPREPLY < <(compgen -f -X '!*.toml' -- "$word"; compgen -d -- "$word")
		return
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o filenames -F _krund krund
