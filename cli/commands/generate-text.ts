import { join } from "node:path";
import { visibleLine } from "../../base/text/visible-text.ts";
import type { WrittenFiles } from "../../catalog/store/file-ownership.ts";
import { modulePath } from "../../catalog/store/lockfile.ts";
import { shownName } from "../../catalog/store/shown-name.ts";
import { quoteString } from "../../codegen/escape.ts";
import type { ServerDrift } from "../../host/generation/drift.ts";
import type { Generation } from "../../host/generation/generate.ts";

const MAX_DAMAGE_SHOWN = 20;

/** Warnings before anything is written: servers that can no longer be listed, and definitions that cannot be used. */
export function proposalWarnings({ failures, warnings, damage }: Generation, isCheck: boolean): string[] {
  const lines = failures
    .filter(({ isNew }) => isNew)
    .map(({ message, isKept }) => `${message}${isKept ? "; its last modules are kept" : ""}`);
  for (const { server, tool, message } of warnings) {
    const where = tool === undefined ? `server '${server}'` : `server '${server}', tool '${shownName(tool)}'`;
    lines.push(`${where}: ${message}`);
  }
  if (isCheck) return lines;
  const outcomes = damage.map(
    ({ problem, isMended }) =>
      `${problem}; ${isMended ? "it is written anew" : "it is left out until its server can be asked"}`,
  );
  return [...lines, ...firstOf(outcomes)];
}

/** Warnings after the files were written. @param shown the folder as messages name it. */
export function writeWarnings(
  { edited, left }: WrittenFiles,
  { damage }: Generation,
  shown: string,
): string[] {
  return [
    // Edited entries of the catalog were already reported one by one.
    ...edited
      .filter((path) => path !== "catalog.json" || damage.length === 0)
      .map((path) => `${join(shown, path)} had been edited, and was written again`),
    ...left.map((path) => `${join(shown, path)} is no longer of use, but was edited: delete it yourself`),
  ];
}

/** The differences between the folder and the servers; empty when there are none. */
export function renderCheck({ damage, drift }: Generation, stale: readonly string[]): string {
  const lines = firstOf(damage.map(({ problem }) => problem)).map(visibleLine);
  if (stale.length > 0 && (drift.length === 0 || damage.length > 0))
    lines.push(`out of date, run \`ptc generate\`: ${stale.join(", ")}`);
  return lines.map((line) => `${line}\n`).join("") + renderDrift(drift);
}

/** One line for each server: its number of tools, and its module. @param shown the folder as messages name it. */
export function renderWritten(
  { plan, failures }: Generation,
  { written }: WrittenFiles,
  shown: string,
): string {
  const { servers } = plan.catalog;
  if (servers.length === 0) {
    const why = failures.length === 0 ? "no servers are configured" : "no server could be listed";
    return `${why}, so there is nothing to generate\n`;
  }
  const width = Math.max(...servers.map(({ name }) => name.length));
  const lines = servers.map(({ name, module, tools }) => {
    const count = `${tools.length} ${tools.length === 1 ? "tool" : "tools"}`.padStart(10);
    const path = modulePath(module);
    return `${name.padEnd(width)} ${count}  ${join(shown, path)}${written.includes(path) ? "" : "  (unchanged)"}`;
  });
  return `${lines.join("\n")}\n`;
}

/** The drift as text for people; empty when there is none. */
export function renderDrift(drift: readonly ServerDrift[]): string {
  const lines = drift.flatMap((server) => [
    server.change === "changed" ? nameOf(server.server) : `${nameOf(server.server)} (${server.change})`,
    ...server.added.map((tool) => `  + ${nameOf(tool)}`),
    ...server.removed.map((tool) => `  - ${nameOf(tool)}`),
    ...server.changed.flatMap(({ tool, diff }) => [
      `  ~ ${nameOf(tool)}`,
      ...diff.map((line) => `      ${visibleLine(line)}`),
    ]),
  ]);
  return lines.length === 0 ? "" : `${lines.join("\n")}\n`;
}

function nameOf(name: string): string {
  return /^[\w./-]+$/.test(name) ? name : quoteString(name);
}

function firstOf(lines: readonly string[]): string[] {
  const more = lines.length - MAX_DAMAGE_SHOWN;
  return more <= 0
    ? [...lines]
    : [...lines.slice(0, MAX_DAMAGE_SHOWN), `and ${more} more entries like these`];
}
