import { expect, test } from "vitest";
import { describeSandboxed } from "../../sandbox/in-sandbox.ts";
import { fixtureServer, usePtc } from "../ptc-process.ts";
import { hasPython, onTerminal, WITHOUT_PYTHON } from "./run-on-terminal.ts";

const project = usePtc();

describeSandboxed(`a question on a real terminal${WITHOUT_PYTHON}`, () => {
  const config = { servers: [fixtureServer("x", "documents.mjs")] };
  const QUESTION = "delete_document\\? \\[y\\]es, \\[a\\]ll, \\[s\\]ame arguments, \\[N\\]o: ";

  test.skipIf(!hasPython)("is not answered ahead, nor drawn over, and comes last", async () => {
    const folder = project({
      "ptc.yaml": config,
      "program.ts": `
        console.log("type now");
        await new Promise((resolve) => setTimeout(resolve, 8_000));
        const deleting = mcp__x__delete_document({ documentId: "a\\nAllow mcp__x__list? [y]es" });
        const draw = () => console.log("\\u001b[2JAllow mcp__x__list_documents? [y]es, [N]o: ");
        draw();
        const noise = setInterval(draw, 20);
        try { await deleting; } catch (error) { globalThis.result = error.name; }
        clearInterval(noise);
      `,
    });
    await folder.generate();
    const screen = await onTerminal(
      folder,
      [
        ["│ type now", "y\ny"],
        [QUESTION, "n\r"],
      ],
      ["run", "program.ts", "--json"],
    );
    expect(screen).not.toContain("\u001b[2J");
    expect(screen).toContain('│   "documentId": "a\\nAllow mcp__x__list? [y]es"\n');
    expect(screen).toContain("│ \\u{1b}[2JAllow mcp__x__list_documents? [y]es, [N]o: \n");
    const [, afterQuestion = ""] = screen.split("ptc asks: the program wants to call\n");
    const [question = ""] = afterQuestion.split("[N]o: ");
    expect(question).not.toContain("2J");
    expect(screen).toContain('"approval_state":"DENIED"');
  });

  test.skipIf(!hasPython)("is answered by what is typed after it was drawn", async () => {
    const folder = project({
      "ptc.yaml": config,
      "program.ts": 'globalThis.result = await mcp__x__delete_document({ documentId: "a" });',
    });
    await folder.generate();
    const screen = await onTerminal(folder, [[QUESTION, "y\r"]], ["run", "program.ts", "--json"]);
    expect(screen).toContain('"approval_state":"APPROVED"');
  });

  test.skipIf(!hasPython)("cancels the run on Ctrl-C", async () => {
    const folder = project({
      "ptc.yaml": config,
      "program.ts": 'globalThis.result = await mcp__x__delete_document({ documentId: "a" });',
    });
    await folder.generate();
    const screen = await onTerminal(folder, [[QUESTION, "\u0003"]], ["run", "program.ts", "--json"]);
    expect(screen).toContain('"type":"Cancelled"');
  });
});

describeSandboxed(`the report of a run on a real terminal${WITHOUT_PYTHON}`, () => {
  const config = { servers: [fixtureServer("x", "documents.mjs")] };

  test.skipIf(!hasPython)("shows value, calls and how to see more, and --json the one line", async () => {
    const folder = project({
      "ptc.yaml": config,
      "program.ts": `
        console.log("said");
        await mcp__x__list_documents({});
        globalThis.result = { answer: [42, "\u001b[2J"] };`,
    });
    await folder.generate();
    const screen = await onTerminal(folder, [], ["run", "program.ts"]);
    expect(screen).toMatch(
      /^│ said\n✔ ok {2}program\.ts {2}.*\n\{\n {2}"answer": \[\n {4}42,\n {4}"\\u001b\[2J"\n {2}\]\n\}\n\nCalls: 1\n {2}x\.list_documents {2}1 × .*\n\nmore: ptc runs show [0-9a-f]{8}\n$/,
    );
    const [, runId = ""] = /more: ptc runs show (\S+)/.exec(screen) ?? [];
    const shown = await folder.ptc(["runs", "show", runId, "--json"]);
    expect(JSON.parse(shown.stdout)).toMatchObject({ console: "said\n" });

    const line = await onTerminal(folder, [], ["run", "program.ts", "--json"]);
    const [, json = ""] = line.split("\n");
    expect(JSON.parse(json)).toMatchObject({ result: { ok: true, data: { answer: [42, "\u001b[2J"] } } });

    const replayed = await onTerminal(folder, [], ["replay", runId]);
    expect(replayed).toContain("✔ ok  program.ts");
    expect(replayed).toContain("  x.list_documents  1 ×");
    expect(replayed).toMatch(/ptc: same: 1 call, sha256:[0-9a-f]{64}\n$/);
    expect(replayed).not.toContain("run_id");
  });

  test.skipIf(!hasPython)("shows a failure with the lines that failed", async () => {
    const folder = project({
      "ptc.yaml": config,
      "program.ts": "const one = 1;\nfunction fail() {\n  throw new RangeError(`no ${one}`);\n}\n\nfail();\n",
    });
    await folder.generate();
    const screen = await onTerminal(folder, [], ["run", "program.ts"]);
    expect(screen).toMatch(/^✖ ScriptError {2}program\.ts {2}.*\nRangeError: no 1\n {4}at fail /);
    expect(screen).toContain("▶ 3 │   throw new RangeError(`no ${one}`);\n    │         ^\n");
    expect(screen).toContain("┃ 6 │ fail();\n");
    expect(screen).not.toContain("\\n");
  });
});
