import type { ProgramGuide } from "../../../codegen/language-printer.ts";
import { listServerNames } from "./server-names.ts";

const BEFORE = `ptc runs one short program that calls many MCP tools, and returns only what the program prints.

Use it when a task takes several tool calls, a loop, a condition on results, or results too large to read. Do not use it for what your own tools do (files, shell), nor for a single call of a tool that you have directly.

1. search_tools with detail "signature" finds tools and shows how to call them.
2. execute_program runs, for example:`;

/**
 * The instructions that a client shows its model once. At most 2,000 characters, whatever servers are configured.
 *
 * @param servers modules of all configured servers.
 */
export function buildInstructions(
  servers: readonly string[],
  { example, rules }: Pick<ProgramGuide, "example" | "rules">,
): string {
  const known = servers.length === 0 ? "No servers are configured." : `Servers: ${listServerNames(servers)}`;
  return [BEFORE, example, rules, known].join("\n\n");
}
