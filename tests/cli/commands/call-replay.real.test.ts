import { expect, test } from "vitest";
import { describeSandboxed } from "../../sandbox/in-sandbox.ts";
import { fixtureServer, usePtc } from "../ptc-process.ts";

const newProject = usePtc();

describeSandboxed("the run of a single call", () => {
  test("comes to the same when its program is replayed in a sandbox, also where it failed", async () => {
    const project = newProject({ "ptc.yaml": { servers: [fixtureServer("docs", "documents.mjs")] } });
    await project.generate();
    for (const [tool, code] of [
      ["get_document", 0],
      ["lock_document", 1],
      ["delete_document", 1],
    ] as const) {
      const exited = await project.ptc(["call", `docs.${tool}`, "documentId=a"]);
      expect({ tool, code: exited.code }).toEqual({ tool, code });
    }
    expect(await project.ptc(["replay", "--all"])).toMatchObject({
      code: 0,
      stdout: "3 runs replayed: 3 the same, 0 diverged\n",
    });
  });
});
