import { expect, test } from "vitest";
import { RunOutputs } from "../../../execution/runs/run-outputs.ts";
import { MemoryStore } from "../../archive/memory-store.ts";
import { executed } from "../../server/mcp/served.ts";

test("the output of a recent run is read by its principal, and by nobody else", async () => {
  const outputs = new RunOutputs(() => new MemoryStore());
  const run = executed({ data: "of ada" });
  outputs.remember(run, { principal: "ada" });
  expect(await outputs.read(run.envelope.run_id, { principal: "ada" })).toContain("of ada");
  expect(await outputs.read(run.envelope.run_id, { principal: "bob" })).toBeUndefined();
  expect(await outputs.read("another", { principal: "ada" })).toBeUndefined();
});
