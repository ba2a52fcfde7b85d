import { type DefineCommand, EXIT, UsageError, write } from "../command.ts";

/**
 * The scripts that shells load to complete the words of `ptc`. They pass the words to `ptc complete-words`, which prints one candidate
 * per line, followed by a tab and a description. It prints only `:files` if the shell should complete files itself.
 */
const BASH = `_ptc() {
  local IFS=$'\\n' line out
  COMPREPLY=()
  out=$(ptc complete-words -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null </dev/null) || return 0
  if [ "$out" = ":files" ]; then
    type compopt >/dev/null 2>&1 && compopt -o default 2>/dev/null
    return 0
  fi
  for line in $out; do COMPREPLY+=("\${line%%$'\\t'*}"); done
  case "\${COMPREPLY[0]}" in
    *[=.]) type compopt >/dev/null 2>&1 && compopt -o nospace 2>/dev/null ;;
  esac
  return 0
}
complete -F _ptc ptc
`;

const ZSH = `#compdef ptc
_ptc() {
  local -a lines plain open
  local line name
  lines=("\${(@f)$(ptc complete-words -- "\${(@)words[2,CURRENT]}" 2>/dev/null </dev/null)}")
  if [[ "\${lines[1]}" == ":files" ]]; then
    _files
    return
  fi
  for line in $lines; do
    name=\${line%%$'\\t'*}
    if [[ $name == *[=.] ]]; then
      open+=("\${name//:/\\\\:}:\${line#*$'\\t'}")
    else
      plain+=("\${name//:/\\\\:}:\${line#*$'\\t'}")
    fi
  done
  (( \${#open} )) && _describe -t ptc ptc open -S ''
  (( \${#plain} )) && _describe -t ptc ptc plain
  return 0
}
if [ "\${funcstack[1]}" = "_ptc" ]; then _ptc "$@"; else compdef _ptc ptc; fi
`;

const FISH = `function __ptc_complete
    set -l words (commandline -opc)
    set -e words[1]
    set -l current (commandline -ct)
    set -l lines (ptc complete-words -- $words "$current" 2>/dev/null </dev/null)
    if test "$lines[1]" = ":files"
        __fish_complete_path "$current"
    else if test (count $lines) -gt 0
        printf '%s\\n' $lines
    end
end
complete -c ptc -e
complete -c ptc -f -a '(__ptc_complete)'
`;

/** By the shell's name. */
export const COMPLETION_SCRIPTS: Readonly<Record<string, string>> = { bash: BASH, zsh: ZSH, fish: FISH };

const SHELLS = Object.keys(COMPLETION_SCRIPTS).join(", ");

/** `ptc completion SHELL` */
export const completionCommand: DefineCommand = (program, surroundings, finish) => {
  program
    .command("completion")
    .description("print the script that makes a shell complete commands, options, tools, servers and runs")
    .argument("<shell>", SHELLS)
    .addHelpText(
      "after",
      '\nIn ~/.bashrc, ~/.zshrc (after compinit) or ~/.config/fish/config.fish:\n  eval "$(ptc completion bash)"\n  eval "$(ptc completion zsh)"\n  ptc completion fish | source\n\nExample:\n  eval "$(ptc completion bash)"\n',
    )
    .action(async (shell: string) => {
      const script = Object.hasOwn(COMPLETION_SCRIPTS, shell) ? COMPLETION_SCRIPTS[shell] : undefined;
      if (script === undefined)
        throw new UsageError(`'${shell.slice(0, 40)}' is not one of ${SHELLS}; those are completed`);
      await write(surroundings.stdout, script);
      finish(EXIT.done);
    });
};
