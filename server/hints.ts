import { nearestNames } from "../catalog/search/nearest-names.ts";
import { toolSignature } from "../catalog/tool-signature.ts";
import type { CallRecord } from "../execution/call-log.ts";
import type { Envelope } from "../protocol/envelope.ts";
import { parseNamespacedName, serverModule } from "../protocol/tool-name.ts";
import type { CatalogView } from "./live-catalog.ts";

const MAX_NAMES = 3;
const MAX_SIGNATURES = 2;

/** The names that are nearest to one that is not there, as a sentence. */
function didYouMean(name: string, candidates: readonly string[]): string {
  const names = nearestNames(name, candidates, MAX_NAMES);
  return names.length === 0 ? "" : `did you mean ${names.join(" or ")}?`;
}

/** What is known of tools, and of servers of which nothing is known yet. */
export type KnownTools = Pick<CatalogView, "directory" | "unlisted">;

/** Why there is no such server, for whoever asked for one by name. */
export function unknownServer(name: string, { directory, unlisted }: KnownTools): string {
  const why = unlisted.get(serverModule(name));
  if (why !== undefined) return `server '${name}': ${why}`;
  const modules = directory.servers.map(({ module }) => module);
  const nearest = didYouMean(name, modules);
  const known =
    modules.length === 0 ? "no servers are known yet" : `servers are ${modules.slice(0, 50).join(", ")}`;
  return `there is no server '${name.slice(0, 80)}'; ${nearest === "" ? known : nearest}`;
}

/** Why there is no such tool. */
export function unknownTool(name: string, { directory, unlisted }: KnownTools): string {
  if (directory.isBlocked(name)) return `'${name}' is blocked by the configuration of ptc`;
  const why = unlisted.get(parseNamespacedName(name)?.module ?? "");
  if (why !== undefined) return `there is no tool '${name.slice(0, 160)}' yet: ${why}`;
  const nearest = didYouMean(name, directory.names());
  return `there is no tool '${name.slice(0, 160)}'; ${nearest === "" ? "find one with search_tools" : nearest}`;
}

/** What a model needs to know to correct a program that failed, beyond the failure itself. */
export async function hintsFor(
  { result }: Envelope,
  calls: readonly CallRecord[],
  known: KnownTools,
): Promise<string[]> {
  const { directory } = known;
  if (result.ok) return [];
  const hints = new Set<string>();
  const wrong = new Set<string>();
  for (const { tool, outcome } of calls) {
    if (outcome.decision === "unavailable" && directory.find(tool) === undefined) {
      if (result.error.message.includes(tool)) hints.add(sentence(unknownTool(tool, known)));
    }
    if (outcome.decision === "invalid" && result.error.message.includes(tool)) wrong.add(tool);
    if (outcome.decision === "drifted") {
      hints.add(
        "The tool's definition has just been read again: inspect_tool shows it; then run the program again.",
      );
    }
  }
  for (const name of [...wrong].slice(0, MAX_SIGNATURES)) {
    const tool = directory.find(name);
    if (tool !== undefined) hints.add(`Its signature: ${await toolSignature(tool, "compact")}`);
  }
  const module = /there is no server module '([^']+)'/.exec(result.error.message)?.[1];
  if (module !== undefined) hints.add(sentence(unknownServer(module, known)));
  if (/mcp__\w+ is not defined/.test(result.error.message)) {
    const name = /mcp__\w+/.exec(result.error.message)?.[0] ?? "";
    if (parseNamespacedName(name) !== undefined) hints.add(sentence(unknownTool(name, known)));
  }
  return [...hints];
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
