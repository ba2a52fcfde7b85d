/**
 * Writes `plugin/AGENTS.snippet.md`: the plugin's skill, as a part of an AGENTS.md for clients without skills.
 * `--check` writes nothing, and fails if the file is not up to date.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const SKILL = "plugin/skills/programs/SKILL.md";
const SNIPPET = "plugin/AGENTS.snippet.md";

/** The skill without its front matter, one heading level deeper, between markers so that it can be replaced. */
export function renderAgentsSnippet(skill: string): string {
  const body = skill.replace(/^---\n[\s\S]*?\n---\n/, "").trim();
  let isCode = false;
  const lines = body.split("\n").map((line) => {
    if (line.startsWith("```")) isCode = !isCode;
    return !isCode && /^#+ /.test(line) ? `#${line}` : line;
  });
  return `<!-- ptc: begin -->\n${lines.join("\n")}\n<!-- ptc: end -->\n`;
}

if (process.argv[1] === import.meta.filename) {
  const snippet = renderAgentsSnippet(readFileSync(join(root, SKILL), "utf8"));
  if (!process.argv.includes("--check")) writeFileSync(join(root, SNIPPET), snippet);
  else if (readFileSync(join(root, SNIPPET), "utf8") !== snippet) {
    process.stderr.write(
      `${SNIPPET} is not up to date with ${SKILL}; run \`node scripts/agents-snippet.ts\`\n`,
    );
    process.exitCode = 1;
  }
}
