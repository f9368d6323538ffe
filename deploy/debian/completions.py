"""Completions for shells, made of the commands and flags of a program. They complete commands, flags, values that are known, and file
names. Names of objects come from the cluster: kubectl asks for them."""

# Values that are names of files.
FILES = ("--filename", "--config", "--facts", "--kubeconfig")


def files(program, commands):
    """Path below the root -> text, for bash, zsh and fish."""
    return {
        f"usr/share/bash-completion/completions/{program}": bash(program, commands),
        f"usr/share/zsh/vendor-completions/_{program}": zsh(program, commands),
        f"usr/share/fish/vendor_completions.d/{program}.fish": fish(program, commands),
    }


def spellings(flag):
    return [name for name in (flag.short, flag.long) if name]


def bash(program, commands):
    """One function. A case for each flag with a value comes before those for commands."""
    function = "_" + program.replace("-", "_")
    lines = [f"# bash completion for {program}", f"{function}()", "{"]
    lines += ["    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}"]
    lines += ["    COMPREPLY=()", "    if ((COMP_CWORD == 1)); then"]
    names = " ".join(command.name for command in commands)
    lines += [f'        mapfile -t COMPREPLY < <(compgen -W "{names} --help --version" -- "$current")', "        return", "    fi"]
    lines += ['    case "$command $before" in']
    for command in commands:
        for flag in filter(lambda flag: flag.value, command.flags):
            patterns = "|".join(f'"{command.name} {name}"' for name in spellings(flag))
            if flag.choices:
                action = f'mapfile -t COMPREPLY < <(compgen -W "{" ".join(flag.choices)}" -- "$current"); return'
            elif flag.long in FILES:
                action = 'compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$current"); return'
            else:
                action = "return"
            lines.append(f"        {patterns}) {action} ;;")
    lines += ["    esac", '    case "$command" in']
    for command in commands:
        flags = " ".join(flag.long for flag in command.flags)
        lines.append(f'        {command.name}) mapfile -t COMPREPLY < <(compgen -W "{flags}" -- "$current") ;;')
    lines += ["    esac", "}", f"complete -F {function} {program}", ""]
    return "\n".join(lines)


def quoted(text):
    """A word in single quotes, for zsh and fish."""
    return "'" + text.replace("\\", "\\\\").replace("'", "'\\''") + "'"


def zsh_flag(flag):
    """An argument of _arguments. Brackets and colons have a meaning there."""
    about = flag.about
    for special in "\\[]:":
        about = about.replace(special, f"\\{special}")
    value = ""
    if flag.value:
        action = f"({' '.join(flag.choices)})" if flag.choices else "_files" if flag.long in FILES else " "
        value = f":{flag.long.lstrip('-')}:{action}"
    others = "*" if flag.repeated else f"({' '.join(spellings(flag))})"
    return [quoted(f"{others}{name}[{about}]{value}") for name in spellings(flag)]


def zsh(program, commands):
    described = [quoted(f"{command.name}:{command.about}") for command in commands]
    lines = [f"#compdef {program}", "local -a commands", "commands=(", *(f"    {one}" for one in described), ")"]
    lines += ["if ((CURRENT == 2)); then", f"    _describe -t commands '{program} command' commands", "    return", "fi"]
    lines += ["local command=${words[2]}", "shift words", "((CURRENT--))", "case $command in"]
    for command in commands:
        arguments = " ".join(one for flag in command.flags for one in zsh_flag(flag))
        lines.append(f"    {command.name}) _arguments -s {arguments} ;;")
    return "\n".join([*lines, "esac", ""])


def fish(program, commands):
    lines = [f"# fish completion for {program}", f"complete -c {program} -f"]
    for command in commands:
        lines.append(f"complete -c {program} -n __fish_use_subcommand -a {command.name} -d {quoted(command.about)}")
    for command in commands:
        for flag in command.flags:
            parts = [f"complete -c {program} -n '__fish_seen_subcommand_from {command.name}' -l {flag.long.lstrip('-')}"]
            parts += [f"-s {flag.short.lstrip('-')}"] if flag.short else []
            if flag.value:
                parts.append("-r" if flag.long in FILES else "-x")
                parts += ["-F"] if flag.long in FILES else [f"-a '{' '.join(flag.choices)}'"] if flag.choices else []
            lines.append(" ".join([*parts, "-d", quoted(flag.about)]))
    return "\n".join([*lines, ""])
