import { describe, expect, test } from "vitest";
import { connectSessions, connectStateless, serveHttp } from "./http-clients.ts";
import { PROGRAM, REPLY, TOOLS, useServedProject } from "./served-project.ts";

const served = useServedProject();

const ERAS = [
  { era: "2025-11-25", connect: connectSessions },
  { era: "2026-07-28", connect: connectStateless },
];

const DELETE = `import { deleteDocument } from "./servers/my_documents/index.js";
console.log((await deleteDocument({ documentId: "a" })) !== undefined);`;

describe.each(ERAS)("a client of $era over HTTP", ({ era, connect }) => {
  test("runs a program behind the wall", async () => {
    const { url, process } = await serveHttp(served().folder);
    const client = await connect(url);
    expect(client.protocolVersion).toBe(era);
    expect((await client.listTools()).sort()).toEqual(TOOLS);
    const reply = await client.call("execute_program", { code: PROGRAM });
    expect(reply).toMatchObject({ content: [{ text: REPLY }] });
    process.kill("SIGTERM");
    expect(await process.exited).toMatchObject({ code: 0 });
  });

  test("asks its person whether a call is made, and goes on with the answer", async () => {
    const { url } = await serveHttp(served().folder);
    const asked: string[] = [];
    const client = await connect(url, {
      person: (question) => {
        asked.push(question);
        return { action: "accept", content: { decision: "once" } };
      },
    });
    const reply = await client.call("execute_program", { code: DELETE });
    expect(reply).toMatchObject({ content: [{ text: "[Script executed successfully]\ntrue" }] });
    expect(asked).toEqual([expect.stringContaining("delete_document")]);
  });
});
