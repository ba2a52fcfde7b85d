import { encodePythonBundle, type RunnerName } from "../../protocol/runners.ts";

interface ContractPrograms {
  /** Prints 2,000 numbered lines of a hundred letters to its log; its value has 1,500,000 letters. */
  manyLines: string;
  /** The length and the last letter of `data.text`. */
  lengthOfData: string;
  exitsWith7: string;
  /** Says that it has started, and never ends. */
  busy: string;
  /** Prints every few milliseconds, and never ends. */
  ticking: string;
  runs: string;
  /** Prints 100,000 letters and calls a tool. */
  printsAndCalls: string;
  number(number: number): string;
}

const python = (source: string, mode: "async" | "sync" = "sync") =>
  encodePythonBundle({ mode, source, file_name: "main.py", modules: {} });
const PRINT = "import os, sys, time\nlog = lambda text: print(text, file=sys.stderr)\n";

/** What the contract of engines runs, as bundles of each runner. */
export const CONTRACT_PROGRAMS: Readonly<Record<RunnerName, ContractPrograms>> = {
  javascript: {
    manyLines:
      "for (let line = 0; line < 2_000; line++) console.error(`line ${line} ${'x'.repeat(100)}`); globalThis.result = 'y'.repeat(1_500_000);",
    lengthOfData: "globalThis.result = [data.text.length, data.text.at(-1)];",
    exitsWith7: "process.reallyExit(7);",
    busy: "console.error('started'); for (;;) {}",
    ticking: "setInterval(() => console.error('tick'), 5); await new Promise(() => {});",
    runs: "console.error('runs'); globalThis.result = 1;",
    printsAndCalls:
      'console.error("x".repeat(100_000)); await globalThis[Symbol.for("ptc.tool")]("mcp__x__waits_for_people")({});',
    number: (number) => `console.error("number ${number}"); globalThis.result = ${number};`,
  },
  python: {
    manyLines: python(
      `${PRINT}for line in range(2_000):\n    log(f"line {line} {'x' * 100}")\nresult = 'y' * 1_500_000`,
    ),
    lengthOfData: python("result = [len(data['text']), data['text'][-1]]"),
    exitsWith7: python(`${PRINT}os._exit(7)`),
    busy: python(`${PRINT}log('started')\nwhile True:\n    pass`),
    ticking: python(`${PRINT}while True:\n    log('tick')\n    time.sleep(0.005)`),
    runs: python(`${PRINT}log('runs')\nresult = 1`),
    printsAndCalls: python(`${PRINT}log('x' * 100_000)\ncall_tool('mcp__x__waits_for_people', {})`),
    number: (number) => python(`${PRINT}log('number ${number}')\nresult = ${number}`),
  },
};
