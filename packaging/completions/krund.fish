# fish completion of krund; krunctl has `krunctl completion fish`
complete -c krund -f
complete -c krund -n __fish_use_subcommand -a run -d 'start or continue an experiment'
complete -c krund -n __fish_use_subcommand -a check -d 'check the configuration and the machine'
complete -c krund -n __fish_use_subcommand -a census -d 'measure what disturbs the processors'
complete -c krund -n __fish_use_subcommand -a version -d 'print the version'
complete -c krund -n __fish_use_subcommand -a help -d 'print the help'
complete -c krund -n '__fish_seen_subcommand_from run check census' -a '(__fish_complete_suffix .toml)'
complete -c krund -n '__fish_seen_subcommand_from run' -l directory -r -a '(__fish_complete_directories)'
complete -c krund -n '__fish_seen_subcommand_from run check' -l reboot -x -a 'hardware kexec soft none'
complete -c krund -n '__fish_seen_subcommand_from run check' -l quick -d 'try the whole experiment without waits'
complete -c krund -n '__fish_seen_subcommand_from run' -l dry-run -d 'print what would run'
complete -c krund -n '__fish_seen_subcommand_from run' -l accept-changed -d 'measure changed programs as a new edition'
complete -c krund -n '__fish_seen_subcommand_from run' -l quiet -d 'print only errors'
complete -c krund -n '__fish_seen_subcommand_from run' -l verbose -d 'print debugging messages'
complete -c krund -n '__fish_seen_subcommand_from check' -l json -d 'print JSON'
complete -c krund -n '__fish_seen_subcommand_from check' -l try -d 'run one iteration of each key'
complete -c krund -n '__fish_seen_subcommand_from census' -l time -x -d duration
complete -c krund -n '__fish_seen_subcommand_from census' -l cpus -x -d 'list of CPUs'
