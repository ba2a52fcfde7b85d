import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { containersOf } from "../sandbox/containers-of.ts";
import { describeSandboxed } from "../sandbox/in-sandbox.ts";
import {
  type Connect,
  connectFirstGeneration,
  connectSecondGeneration,
  type Person,
  type Session,
} from "./sdk-sessions.ts";
import {
  DIRECT,
  DIRECT_ANSWER,
  PROGRAM,
  REPLY,
  TOOLS,
  useServedProject,
  WRONG_PROGRAM,
} from "./served-project.ts";

const served = useServedProject();

const GENERATIONS: { sdk: string; connect: Connect; protocolVersion: string }[] = [
  { sdk: "1.x", connect: connectFirstGeneration, protocolVersion: "2025-11-25" },
  { sdk: "2.x", connect: connectSecondGeneration, protocolVersion: "2026-07-28" },
];

const nobody: Person = () => {
  throw new Error("nobody should be asked");
};

for (const { sdk, connect, protocolVersion } of GENERATIONS) {
  describeSandboxed(`the client of SDK ${sdk}`, () => {
    describe("in one session", () => {
      let session: Session;
      beforeAll(async () => {
        session = await connect(served().serve, nobody);
      });
      afterAll(() => session.close());

      test(`agrees on ${protocolVersion} and finds the tools and the instructions`, async () => {
        expect(session.protocolVersion).toBe(protocolVersion);
        expect((await session.listTools()).sort()).toEqual(TOOLS);
        expect(session.instructions).toMatch(/execute_program/);
        expect(session.instructions).toMatch(/Servers: my_documents/);
        // The client checks the answer by the output schema that it was told.
        expect(await session.call(DIRECT, { documentId: "a" })).toMatchObject({
          structuredContent: DIRECT_ANSWER,
        });
      });

      test("runs a program over two servers, and is kept up to date on its calls", async () => {
        const messages: (string | undefined)[] = [];
        const code = `await mcp__memory__create_entities({ entities: [{ name: "${sdk}", entityType: "sdk", observations: [] }] });
        const { entities } = await mcp__memory__search_nodes({ query: "${sdk}" });
        const { title } = await mcp__my_documents__get_document({ documentId: entities[0].name });
        console.log(data.greeting, title);
        globalThis.result = entities.length;`;
        const reply = await session.call(
          "execute_program",
          { code, data: { greeting: "Hello," } },
          { onProgress: ({ message }) => messages.push(message) },
        );
        expect(reply).toMatchObject({
          content: [{ type: "text", text: `[Script executed successfully]\nHello, Document ${sdk}\n1` }],
          _meta: { "ptc/envelope": { result: { ok: true, data: 1, metrics: { tool_calls: 3 } } } },
        });
        expect(reply).not.toHaveProperty("isError", true);
        expect(reply).not.toHaveProperty("structuredContent");
        expect(messages[0]).toMatch(/\b1\b.*mcp__memory__create_entities/);
      });

      test("is told what is wrong with a program before it has called anything", async () => {
        expect(await session.call("execute_program", { code: WRONG_PROGRAM })).toMatchObject({
          isError: true,
          content: [
            {
              text: expect.stringMatching(/^\[Script execution failed\]\nTypeCheckError: .*2:.*documentId/s),
            },
          ],
          _meta: { "ptc/envelope": { result: { ok: false, metrics: { tool_calls: 0 } } } },
        });
      });

      test("searches and inspects", async () => {
        expect(await session.call("search_tools", { query: "delete a document" })).toMatchObject({
          content: [{ text: expect.stringContaining("mcp__my_documents__delete_document") }],
        });
        expect(
          await session.call("inspect_tool", {
            tool_name: "mcp__my_documents__get_document",
            format: "signature",
          }),
        ).toMatchObject({
          content: [{ text: expect.stringMatching(/getDocument\(.*documentId: ?string/s) }],
        });
      });

      test("can call a program off, and use the same connection for the next", async () => {
        const calledOff = new AbortController();
        const code = "await mcp__my_documents__list_documents({}); for (;;) {}";
        const onProgress = () => calledOff.abort();
        const ended = session.call("execute_program", { code }, { onProgress, signal: calledOff.signal });
        await expect(ended).rejects.toThrow();
        expect(await session.call("execute_program", { code: PROGRAM })).toMatchObject({
          content: [{ text: REPLY }],
        });
      });
    });

    test("asks the person in front of it for an approval, and the program goes on with the answer", async () => {
      const questions: string[] = [];
      const decisions = ["once", "no"];
      const asked = await connect(served().serve, (question) => {
        questions.push(question);
        return { action: "accept", content: { decision: decisions.shift() ?? "no" } };
      });
      onTestFinished(() => asked.close());
      const code = `const remove = (documentId: string) => mcp__my_documents__delete_document({ documentId });
        console.log(await remove("a"));
        await remove("b");`;
      expect(await asked.call("execute_program", { code })).toMatchObject({
        isError: true,
        content: [{ text: expect.stringMatching(/ApprovalDenied: .*deleted a/s) }],
        _meta: { "ptc/envelope": { approval_state: "DENIED" } },
      });
      expect(questions).toEqual([
        expect.stringMatching(/mcp__my_documents__delete_document.*"a"/s),
        expect.stringMatching(/mcp__my_documents__delete_document.*"b"/s),
      ]);
    });

    test("leaves nothing running when it goes away in the middle of a program", async () => {
      const { folder } = served();
      const leaving = await connect(served().serve, nobody);
      const code = "await mcp__my_documents__list_documents({}); for (;;) {}";
      await new Promise<void>((onProgress) => {
        leaving.call("execute_program", { code }, { onProgress: () => onProgress() }).catch(() => {});
      });
      expect(await containersOf(leaving.pid)).not.toEqual([]);
      await leaving.close();
      await expect.poll(() => containersOf(leaving.pid), { timeout: 10_000 }).toEqual([]);
      await expect.poll(() => folder.state(), { timeout: 10_000 }).toEqual([]);
    });
  });
}
