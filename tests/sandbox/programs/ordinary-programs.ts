import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import type { RunnerName } from "../../../protocol/runners.ts";
import { Random } from "../../fuzz/random.ts";
import { type Rules, writeText } from "../written-text.ts";

interface Grammar {
  program: string;
  rules: Rules;
}

const readGrammar = (name: string): Grammar => parse(readFileSync(join(import.meta.dirname, name), "utf8"));
const GRAMMARS: Readonly<Record<RunnerName, Grammar>> = {
  javascript: readGrammar("ordinary-programs.yaml"),
  python: readGrammar("ordinary-programs-python.yaml"),
};

/** A longer text of an outcome is cut, so that the outcomes of a batch fit into one result. */
const SHOWN_CHARS = 1_000;

/** The body of an async function that a seed decides. It adds what it sees to the list `seen`, and returns a value. */
export function writeOrdinaryProgram(seed: number, runner: RunnerName): string {
  const { program, rules } = GRAMMARS[runner];
  return writeText(new Random("ordinary program", seed), program, rules).trim();
}

/**
 * One program that runs many, one after the other. Its result is a list with the outcome of each: all that it saw and returned, as
 * `util.inspect` or `repr` writes it, or the name of what it threw.
 */
export function batchOf(bodies: readonly string[], runner: RunnerName): string {
  return runner === "python" ? pythonBatchOf(bodies) : javascriptBatchOf(bodies);
}

function javascriptBatchOf(bodies: readonly string[]): string {
  return `
import { inspect } from "node:util";
const OPTIONS = { depth: 8, breakLength: Infinity, compact: true };
const show = (value) => inspect(value, OPTIONS).slice(0, ${SHOWN_CHARS}).toWellFormed();
const programs = [
${bodies.map((body) => `async (seen) => {\n${body}\n},`).join("\n")}
];
const outcomes = [];
for (const [index, program] of programs.entries()) {
  const seen = [];
  console.log("program " + index);
  try {
    const returned = await program(seen);
    outcomes.push(show([...seen, returned]));
  } catch (error) {
    outcomes.push(show([...seen]) + " throws " + error?.name);
  }
}
globalThis.result = outcomes;`;
}

const PYTHON_MODULES = `array ast asyncio base64 binascii bisect bz2 calendar collections collections.abc colorsys configparser
contextlib contextvars copy csv dataclasses datetime decimal difflib email enum fnmatch fractions functools graphlib gzip hashlib heapq
hmac html inspect io ipaddress itertools json locale logging math mimetypes operator os pathlib pickle platform pprint quopri random re
reprlib secrets shlex statistics string struct sys tempfile textwrap time tomllib traceback types typing unicodedata urllib.parse uuid
warnings weakref xml.etree.ElementTree zlib`;

function pythonBatchOf(bodies: readonly string[]): string {
  const functions = bodies.map(
    (body, index) => `async def program_${index}(seen):\n${body.replace(/^/gm, "    ")}\n`,
  );
  return `
import ${PYTHON_MODULES.split(/\s+/).join(", ")}

${functions.join("\n")}
def show(value):
    try:
        return repr(value)[:${SHOWN_CHARS}].encode("utf-8", "backslashreplace").decode()
    except Exception as error:
        return "not shown: " + type(error).__name__

async def run():
    outcomes = []
    for index in range(${bodies.length}):
        seen = []
        print("program", index)
        try:
            returned = await globals()[f"program_{index}"](seen)
            outcomes.append(show([*seen, returned]))
        except Exception as error:
            outcomes.append(show(seen) + " raises " + type(error).__name__)
    return outcomes

result = await run()`;
}
