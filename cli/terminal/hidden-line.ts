import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { UsageError } from "../exit-code.ts";
import type { Surroundings } from "../surroundings.ts";

/** How long to wait for more lines of a text that was pasted. */
const PASTE_MS = 100;

/**
 * Asks for a line on the terminal and shows nothing of it. Resolves with `undefined` on Ctrl-C or at the end of input.
 *
 * @throws UsageError for a text of several lines, of which a shell would otherwise get the rest.
 */
export async function readHidden(
  prompt: string,
  { stdin, stderr }: Pick<Surroundings, "stdin" | "stderr">,
): Promise<string | undefined> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface({ input: stdin, output: nowhere, terminal: true, historySize: 0 });
  const lines: string[] = [];
  stderr.write(prompt);
  try {
    const isGiven = await new Promise<boolean>((resolve) => {
      reader.on("line", (line) => {
        lines.push(line);
        resolve(true);
      });
      reader.on("SIGINT", () => resolve(false));
      reader.on("close", () => resolve(false));
    });
    if (!isGiven) return undefined;
    await delay(PASTE_MS);
    if (lines.length > 1 || reader.line !== "")
      throw new UsageError("that has more than one line, and nothing was changed; pipe it in");
    return lines[0];
  } finally {
    reader.close();
    stderr.write("\n");
  }
}
