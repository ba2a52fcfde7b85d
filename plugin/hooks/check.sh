#!/bin/sh
# Says in one line what keeps ptc from working in this folder, to the user and to the model. Says nothing when nothing does.
cd "${CLAUDE_PROJECT_DIR:-.}" || exit 0
if command -v ptc > /dev/null 2>&1; then
  said=$(ptc doctor --quick 2>&1 < /dev/null) && exit 0
  said=$(printf '%s\n' "$said" | head -n 1)
elif [ -f ptc.yaml ]; then
  said="ptc is not installed, or not on the PATH: install it with npm, and start Claude Code again"
else
  exit 0
fi
line=$(printf 'ptc: %s' "${said#ptc: }" | tr '\t\r' '  ' | sed 's/[\\"]/\\&/g')
printf '{"systemMessage":"%s","hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"%s"}}\n' "$line" "$line"
