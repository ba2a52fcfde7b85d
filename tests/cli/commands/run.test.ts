import { expect, it, onTestFinished, vi } from "vitest";
import { run } from "../../../cli/commands/run.ts";
import { parseConfiguration } from "../../../configuration/parse.ts";
import type { ProgramRequest } from "../../../execution/run-request.ts";
import { Project } from "../../../project/open-project.ts";
import type { SharedHost } from "../../../project/surroundings.ts";
import { loadProgramTools } from "../../../tools/program-tools.ts";
import { surroundingsIn } from "../surroundings.ts";
import { FakeTerminal } from "../terminal/terminals.ts";

it("tells a person on a terminal that a type check takes long, which they wait fifteen seconds for", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const terminal = new FakeTerminal();
  const configuration = parseConfiguration("servers: []", {
    file: "ptc.yaml",
    directory: "/nowhere",
    environment: {},
  });
  const host = {
    currentTools: () => loadProgramTools(configuration),
    async run({ onPhase, checkPatienceMs }: ProgramRequest) {
      onPhase?.("type_check");
      await vi.advanceTimersByTimeAsync(2_000);
      throw new Error(`checked for ${checkPatienceMs} ms`);
    },
  };
  const shared = { host, onWarning: () => {}, onCalling: async () => {} } as unknown as SharedHost;
  const surroundings = { ...surroundingsIn("/nowhere"), ...terminal.surroundings, shared };
  const running = run(
    {
      program: { code: "", data: {} },
      project: new Project(configuration, { env: {}, onWarning() {} }),
      timeoutMs: undefined,
      typecheck: undefined,
      said: [],
      cancel: new AbortController(),
      warmed: undefined,
    },
    { approve: [], file: [] },
    surroundings,
  );
  await expect(running).rejects.toThrow("checked for 15000 ms");
  expect(terminal.drawn).toBe("ptc: checking types ...\n");
});
