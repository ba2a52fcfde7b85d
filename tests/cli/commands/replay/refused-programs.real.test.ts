import { describe, expect, it } from "vitest";
import { fixtureServer, type Project, usePtc } from "../../ptc-process.ts";

const newProject = usePtc();

/** Two servers, so that messages about one of them have another to list. */
function project(): Project {
  const made = newProject();
  made.write("ptc.yaml", {
    servers: [fixtureServer("my-documents", "documents.mjs"), fixtureServer("slow", "slow-tool.mjs")],
  });
  return made;
}

const REFUSED: [type: string, code: string][] = [
  ["TypeCheckError", "result = await mcp__my_documents__get_document({ id: 1 });"],
  ["TypeCheckError", "result = await mcp__my_documents__get_documents({});"],
  [
    "TypeCheckError",
    'import { go } from "./servers/slow/index.js";\nresult = await getDocument({}); go({});',
  ],
  ["BundleError", "const x = ;"],
  ["BundleError", 'import _ from "lodash"; result = _.now();'],
  ["BundleError", 'import * as x from "./servers/my_document/index.js"; result = await x.getDocument({});'],
  ["BundleError", 'import { getPage } from "./servers/my_documents/index.js"; result = await getPage({});'],
  ["BundleError", "return 1;"],
];

describe("a replay of every run", () => {
  it("finds each program that never ran refused again, for the same reason, and is 0", async () => {
    const made = project();
    await made.generate();
    for (const [type, code] of REFUSED) {
      const { envelope } = await made.run(code);
      expect(envelope.result, code).toMatchObject({ ok: false, error: { type } });
    }
    // What is generated now does not matter: the record has what there was.
    made.write("ptc.yaml", { servers: [] });
    const { code, stdout } = await made.ptc(["replay", "--all"]);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `${REFUSED.length} runs replayed: ${REFUSED.length} the same, 0 diverged\n`,
    });
  });
});

describe("an edited program that needs more than the record has", () => {
  it.each([
    [
      "a server that the run did not use",
      'import * as slow from "./servers/slow/index.js"; result = await slow.go({});',
    ],
    ["a tool that the server did not have", "result = await mcp__my_documents__rename_document({});"],
    ["other arguments", 'result = await mcp__my_documents__get_document({ documentId: "a", page: 2 });'],
  ])("is told so, and to run live: %s", async (_, edited) => {
    const made = project();
    await made.generate();
    const { envelope } = await made.run(
      'result = await mcp__my_documents__get_document({ documentId: "a" });',
    );
    expect(envelope.result.ok).toBe(true);
    made.write("edited.ts", edited);
    const { code, stdout } = await made.ptc(["replay", envelope.run_id, "--code", "edited.ts"]);
    const { message } = JSON.parse(stdout).result.error;
    expect(code).toBe(1);
    expect(message).toContain("modules in the record of the run, which has servers/my_documents");
    expect(message).toContain("`ptc generate` does not change these");
    expect(message).toContain("run it with `ptc run`");
    expect(message).not.toContain("run `ptc generate`");
  });

  it("is told to run live when it makes a call without a recorded answer", async () => {
    const made = project();
    await made.generate();
    const { envelope } = await made.run(
      'result = await mcp__my_documents__get_document({ documentId: "a" });',
    );
    made.write("edited.ts", 'result = await mcp__my_documents__get_document({ documentId: "b" });');
    const { stdout } = await made.ptc(["replay", envelope.run_id, "--code", "edited.ts"]);
    expect(JSON.parse(stdout).result.error).toMatchObject({
      type: "ReplayDiverged",
      message: expect.stringMatching(
        /a call that is not in the record: .*; to use tools as they are now, run it with `ptc run`$/,
      ),
    });
  });
});
