import { describe, expect, it } from "vitest";
import { completion, scriptedModel } from "../../upstream/model/scripted-model.ts";
import { projectInProcess } from "../ptc-in-process.ts";

const KEY = "the-key-of-the-model";
const ARGUMENTS = JSON.stringify({ value: `Ada, ${KEY}`, schema: { type: "string" } });

describe("extract", () => {
  it("is a tool of ptc's own server where a model is configured: decided about, audited, archived, without its key", async () => {
    const model = await scriptedModel([completion({ value: `Ada ${KEY}` })]);
    const extract = { url: model.url, model: "small", key: KEY };
    const { project, ptc, call, auditLines } = projectInProcess({ extract });
    expect(await ptc(["generate"])).toMatchObject({ code: 0 });
    expect((await ptc(["inspect", "mcp__ptc__extract"])).stdout).toContain("through a model");
    const answered = await call("ptc.extract", "--json", ARGUMENTS);
    expect(answered).toMatchObject({ code: 0, stdout: "Ada [REDACTED]\n" });
    expect(JSON.stringify(model.requests[0]?.body)).not.toContain(KEY);
    const shown = await ptc(["runs", "show", "latest", "--json"]);
    expect(shown.stdout).not.toContain(KEY);
    expect(auditLines().find(({ event }) => event === "call")).toMatchObject({
      server: "ptc",
      tool: "mcp__ptc__extract",
      decision: "allowed",
    });
    for (const policy of [
      { tools: { block: ["mcp__ptc__extract"] } },
      { approvals: { ask: ["mcp__ptc__*"] } },
    ]) {
      project.write("ptc.yaml", { extract, ...policy });
      expect(await call("ptc.extract", "--json", ARGUMENTS)).toMatchObject({ code: 1, stdout: "" });
    }
    expect(model.requests).toHaveLength(1);
    // Where no model is configured, there is nothing of it.
    project.write("ptc.yaml", {});
    expect((await call("ptc.extract", "--json", ARGUMENTS)).stderr).toContain(
      "there is no tool 'ptc.extract'",
    );
  });
});
