import { isObject, parseForeignJson } from "../../base/json.ts";
import type { Surroundings } from "../../project/surroundings.ts";
import { handOver, MAX_SAID_BYTES } from "../../server/mcp/said-socket.ts";
import { defineCommand, EXIT, type ExitCode, UsageError } from "../command.ts";

const MAX_DEPTH = 32;

/** `ptc said`: for the hooks of clients. */
export const saidCommand = defineCommand("said", said, (command) =>
  command
    .description(
      "pass what the user said, from stdin, to the `ptc serve` of the client that runs this; for the client's hooks",
    )
    .addHelpText(
      "after",
      '\nExample:\n  echo \'{"prompt": "send the report to ada@example.com"}\' | ptc said\n',
    ),
);

/** Reads the JSON that Claude Code gives its hooks (`prompt`), or a text. Prints nothing, because a model would read it. */
async function said(_: object, { stdin, env }: Surroundings): Promise<ExitCode> {
  const text = await readAll(stdin);
  const prompt = promptIn(text) ?? text;
  if (prompt.trim() !== "") await handOver(prompt, env);
  return EXIT.done;
}

async function readAll(stdin: Surroundings["stdin"]): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of stdin) {
    const chunk = Buffer.from(piece as Uint8Array);
    bytes += chunk.length;
    if (bytes > MAX_SAID_BYTES / 2) throw new UsageError(`stdin has more than ${MAX_SAID_BYTES / 2} bytes`);
    pieces.push(chunk);
  }
  return Buffer.concat(pieces).toString("utf8");
}

/** The user's words in the JSON of a hook; `undefined` for any other text. */
function promptIn(text: string): string | undefined {
  try {
    const value = parseForeignJson(text, { maxBytes: MAX_SAID_BYTES, maxDepth: MAX_DEPTH });
    return isObject(value) && typeof value.prompt === "string" ? value.prompt : undefined;
  } catch {
    return undefined;
  }
}
