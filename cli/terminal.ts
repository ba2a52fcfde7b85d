import type { Writable } from "node:stream";
import { styleText } from "node:util";
import type { Surroundings } from "./surroundings.ts";

type Style = Parameters<typeof styleText>[0];

/** How text is shown where it goes: in colour on a terminal, plain in a pipe. */
export interface Terminal {
  /** Characters in a line; `undefined` where lines may be of any length. */
  readonly columns: number | undefined;
  style(style: Style, text: string): string;
}

/** Follows NO_COLOR and FORCE_COLOR; otherwise there is colour where there is a terminal. */
export function terminalOf(
  stream: Writable & { isTTY?: boolean; columns?: number },
  env: Surroundings["env"],
): Terminal {
  const forced = env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== "0";
  const colours = forced || (stream.isTTY === true && !env.NO_COLOR && env.TERM !== "dumb");
  return {
    columns: stream.isTTY === true ? (stream.columns ?? 80) : undefined,
    style: (style, text) => (colours ? styleText(style, text, { validateStream: false }) : text),
  };
}

/** Text of a server or a program on one line, without a character that could repaint the terminal. */
export function oneLine(text: string, maxChars = Number.POSITIVE_INFINITY): string {
  const line = text
    .replaceAll(/\s+/g, " ")
    .replaceAll(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}]/gu, "")
    .trim();
  return line.length <= maxChars ? line : `${line.slice(0, Math.max(0, maxChars - 3))}...`;
}

/** Text that keeps its lines and nothing else that could move the cursor. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}]/gu, (character) =>
    character === "\n" || character === "\t" ? character : "\u{fffd}",
  );
}

export function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}
