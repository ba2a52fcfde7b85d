import { formatBytes, formatDuration } from "../../base/quantities.ts";
import { oneLine } from "../../base/visible-text.ts";
import type { ObservedCall } from "../../execution/call-log.ts";
import { shortToolName } from "../../server/reports/run-overview.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { layOutTable } from "./text-table.ts";

const MAX_TOOLS = 20;
const MAX_TOOL_CHARS = 60;
const INDENT = "  ";

interface ToolCalls {
  calls: number;
  failed: number;
  durationMs: number;
  bytes: number;
  /** The first failure of a call. */
  error: string | undefined;
}

/** Counts the calls of a run by tool while it goes on. Values of calls are not held. */
export class MadeCalls {
  readonly #tools = new Map<string, ToolCalls>();
  #count = 0;
  #others = 0;

  note({ tool: name, durationMs, outcome }: ObservedCall): void {
    this.#count++;
    const tool = this.#toolNamed(oneLine(shortToolName(name), MAX_TOOL_CHARS));
    if (tool === undefined) return;
    tool.calls++;
    tool.durationMs += durationMs;
    tool.bytes += outcome.bytes;
    if (outcome.ok) return;
    tool.failed++;
    tool.error ??= oneLine(outcome.error.message, 500);
  }

  /** One line for each tool, with its calls and the first failure among them; empty without calls. */
  render({ style, columns }: Terminal): string {
    if (this.#count === 0) return "";
    const dim = (text: string) => style("dim", text);
    const table = layOutTable(
      [...this.#tools].map(([name, { calls, durationMs, bytes, failed }]) => [
        { text: name, ...(failed > 0 && { style: (text: string) => style("red", text) }) },
        { text: `${calls} ×`, align: "right" as const },
        { text: formatDuration(durationMs), align: "right" as const, style: dim },
        { text: formatBytes(bytes), align: "right" as const, style: dim },
        { text: failed === 0 ? "" : `${failed} failed`, style: (text: string) => style("red", text) },
      ]),
    );
    const lines = [...this.#tools.values()].flatMap(({ error }, index) => [
      `${INDENT}${table[index] ?? ""}`,
      ...(error === undefined
        ? []
        : [`${INDENT}${INDENT}${style("red", oneLine(error, columns === undefined ? 160 : columns - 5))}`]),
    ]);
    if (this.#others > 0) lines.push(dim(`${INDENT}and ${this.#others} calls of other tools`));
    return [style("bold", `Calls: ${this.#count}`), ...lines].join("\n");
  }

  #toolNamed(name: string): ToolCalls | undefined {
    let tool = this.#tools.get(name);
    if (tool === undefined && this.#tools.size < MAX_TOOLS) {
      tool = { calls: 0, failed: 0, durationMs: 0, bytes: 0, error: undefined };
      this.#tools.set(name, tool);
    }
    if (tool === undefined) this.#others++;
    return tool;
  }
}
