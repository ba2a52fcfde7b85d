import { randomInt } from "node:crypto";
import { closeSync, constants, openSync } from "node:fs";
import { isatty, ReadStream, WriteStream } from "node:tty";
import type { Surroundings } from "../surroundings.ts";
import { readLine, throwAwayTyped } from "./typed-line.ts";

/** The terminal that controls this process, opened by itself: no pipe, file or option can stand in for it. */
export interface OwnTerminal {
  surroundings: Surroundings;
  close(): void;
}

/** Letters that make no word, and are told apart in every font. */
const LETTERS = "bcdfghjkmnpqrstvwxz";
const LENGTH = 5;

/**
 * Opens the terminal at which this process was started. `undefined` where there is none: in a pipeline of a service, under a client
 * that has none, and in the background host, whose terminal would be another's.
 */
export function openOwnTerminal(surroundings: Surroundings): OwnTerminal | undefined {
  if (surroundings.shared !== undefined) return undefined;
  const [input, output] =
    process.platform === "win32" ? ["\\\\.\\CONIN$", "\\\\.\\CONOUT$"] : ["/dev/tty", "/dev/tty"];
  const opened: number[] = [];
  try {
    opened.push(openSync(input, constants.O_RDWR), openSync(output, constants.O_RDWR));
    const [read = -1, write = -1] = opened;
    if (!isatty(read) || !isatty(write)) throw new Error("no terminal");
    const stdin = new ReadStream(read);
    const stderr = new WriteStream(write);
    return {
      surroundings: { ...surroundings, stdin, stderr, stdout: stderr },
      close() {
        stdin.destroy();
        stderr.destroy();
      },
    };
  } catch {
    for (const descriptor of opened) closeSync(descriptor);
    return undefined;
  }
}

/** Has a person type what is shown at their terminal and nowhere else. False for anything else. */
export async function confirmByTyping(
  { surroundings }: OwnTerminal,
  onInterrupt: () => void,
  signal: AbortSignal,
): Promise<boolean> {
  const word = Array.from({ length: LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join("");
  if (!(await throwAwayTyped(surroundings.stdin))) {
    onInterrupt();
    return false;
  }
  const prompt = `ptc asks: type ${word} to approve, anything else is a no: `;
  return (await readLine(prompt, surroundings, onInterrupt, signal))?.trim().toLowerCase() === word;
}
