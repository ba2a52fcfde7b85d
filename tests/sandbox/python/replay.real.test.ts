import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import type { RunRecorder } from "../../../execution/record/run-recorder.ts";
import type { ProgramEnvironment } from "../../../protocol/messages.ts";
import { tries } from "../../tries.ts";
import { describeSandboxed } from "../in-sandbox.ts";
import { useRealSandboxes } from "../real-sandboxes.ts";
import { randomProgram } from "./random-programs.ts";

/** More of them from another number: `PTC_TEST_TRIES=50`, `PTC_TEST_FIRST=1000`. */
const PROGRAMS = tries(4);
const FIRST = Number(process.env.PTC_TEST_FIRST ?? 1);
const MAX_DELAY_MS = 15;

const later = <Value>(value: Value) => delay(Math.random() * MAX_DELAY_MS, value);
const TOOLS = {
  echo: (args: Record<string, unknown>) => later(args),
  add: ({ a, b }: Record<string, unknown>) => later({ sum: Number(a) + Number(b) }),
  fail: () => later(undefined).then(() => Promise.reject(new Error("no such desk"))),
};

describeSandboxed("replays of programs in Python", () => {
  const environments: ProgramEnvironment[] = [];
  const recorder: RunRecorder = {
    begin: () => ({
      async end({ environment, trace }) {
        if (trace !== undefined) environments.push({ ...environment, replay: trace });
        return undefined;
      },
    }),
  };
  const sandboxed = useRealSandboxes(TOOLS, { recorder });

  test.each(Array.from({ length: PROGRAMS }, (_, index) => FIRST + index))(
    "random program %i comes to the same again",
    async (seed) => {
      const code = randomProgram(seed);
      const live = await sandboxed(code, { language: "python" });
      await live.recorded;
      const environment = environments.pop();
      if (environment?.replay === undefined)
        throw new Error(`there is no trace: ${JSON.stringify(live.result)}`);
      const { result, console } = await sandboxed(code, { language: "python", environment });
      expect(live.result).toMatchObject({ ok: true });
      const { metrics: _, ...recorded } = live.result;
      expect(result, code).toMatchObject(recorded);
      expect(console).toEqual(live.console);
    },
  );
});
