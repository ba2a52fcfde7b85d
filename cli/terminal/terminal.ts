import type { Writable } from "node:stream";
import { styleText } from "node:util";
import type { Surroundings } from "../surroundings.ts";

type Style = Parameters<typeof styleText>[0];

/** How text is shown: with colour on a terminal, plain in a pipe. */
export interface Terminal {
  /** The width of a line in characters; `undefined` for no limit. */
  readonly columns: number | undefined;
  style(style: Style, text: string): string;
}

/** Uses colour on a terminal, unless NO_COLOR or FORCE_COLOR says otherwise. */
export function terminalOf(
  stream: Writable & { isTTY?: boolean; columns?: number },
  env: Surroundings["env"],
): Terminal {
  const forced = env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== "0";
  const colours = forced || (stream.isTTY === true && !env.NO_COLOR && env.TERM !== "dumb");
  return {
    columns: stream.isTTY === true ? stream.columns || 80 : undefined,
    style: (style, text) => (colours ? styleText(style, text, { validateStream: false }) : text),
  };
}
