import { readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { claudeVariables, describeClient, findClaudeCode, runClient } from "./installed-client.ts";
import { serveModel } from "./model-api.ts";
import { useServedProject } from "./served-project.ts";

const served = useServedProject();
const ON_A_TERMINAL = join(import.meta.dirname, "../fixtures/keys-on-a-terminal.py");
const EXECUTE = "mcp__ptc__execute_program";
const LONG = "no-such-document-".repeat(40);
const DIALOG =
  'Allowmcp__my_documents__delete_documentwith1argument\\?documentId:"no-such.*?"\\.\\.\\.\\d+characters\\.\\.\\."[a-z-]+".*?❯Accept';
const ESCAPE = "\u001b";
/** What is typed into the form of a plan. The field gets its numbers after blanks, so that they may be typed twice. */
const DENY_THE_THIRD = [
  [
    "Allow12calls:12ofmcp__my_documents__delete_document\\?.*Whichcalls:all,ornumberssuchas1-4,6:all",
    "\u007f",
  ],
  ["1-4,6:Typesomething", "      1,2,4-12"],
  ["1-4,6:1,2,4-12(?:1,2,4-12)*Accept", `${ESCAPE}[B`],
  ["❯Accept", "\r"],
];

describeClient("Claude Code on a terminal", findClaudeCode, (claude) => {
  let isAdded = false;

  /** Runs a program by Claude Code on a terminal, at which keys are typed. Resolves with all that the model was told. */
  async function runProgram(code: string, keys: readonly string[][], [columns, rows]: readonly number[]) {
    const { home, serve } = served();
    const model = await serveModel(
      [{ tool: EXECUTE, input: { code } }, { text: "All is said." }],
      "Not yet.",
    );
    const { MCP_CONNECTION_NONBLOCKING: _, ...variables } = claudeVariables(home, model.origin);
    const env = { ...variables, TERM: "xterm-256color", LANG: "C.UTF-8" };
    const set = Object.entries(serve.env).flatMap(([name, value]) => ["-e", `${name}=${value}`]);
    const add = ["mcp", "add", "ptc", ...set, "--", serve.command, ...serve.args];
    if (!isAdded) expect(await runClient(claude, add, { cwd: home, env })).toMatchObject({ code: 0 });
    isAdded = true;
    welcome(join(home, ".claude/.claude.json"), realpathSync(home));
    const steps = [["❯", "Go on.\r"], ["Callingptc", ""], ...keys, ["Allissaid", ""]];
    const shown = await runClient(
      ["python3", ON_A_TERMINAL, JSON.stringify(steps), String(columns), String(rows), ...claude],
      ["--allowedTools", EXECUTE],
      { cwd: home, env },
    );
    expect(shown).toMatchObject({ code: 0, stderr: "" });
    return JSON.stringify(model.requests.map(({ messages }) => messages));
  }

  test.for([
    { columns: 80, rows: 24, key: "\r", reply: /\[Script executed successfully\]\\ndeleted no-such/ },
    // Who leaves a dialog has decided nothing, which a client says of one that nobody saw, too.
    { columns: 120, rows: 40, key: ESCAPE, reply: /\[Script waits for an approval\]/ },
    {
      columns: 100,
      rows: 40,
      key: `${ESCAPE}[B\r`,
      reply: /needs an approval and was declined by the client/,
    },
  ])(
    "shows at $columns columns what a call would do, and decides by one key",
    { timeout: 180_000 },
    async ({ columns, rows, key, reply }) => {
      const code = `console.log(await mcp__my_documents__delete_document({ documentId: ${JSON.stringify(LONG)} }));`;
      const told = await runProgram(code, [[DIALOG, key]], [columns, rows]);
      // A prompt that was typed again may stand behind the result.
      expect(told).toMatch(reply);
    },
  );

  test("asks once about twelve changes, of which a person denies the third by numbers", {
    timeout: 180_000,
  }, async () => {
    const { folder } = served();
    const file = join(folder.directory, "ptc.yaml");
    const before = readFileSync(file, "utf8");
    folder.write("ptc.yaml", { ...JSON.parse(before), approvals: { mode: "plan" } });
    const code = `const ended = [];
for (let i = 1; i <= 12; i++) {
  try { await mcp__my_documents__delete_document({ documentId: "d" + i }); ended.push(i); }
  catch { ended.push("not " + i); }
}
console.log(ended.join(" "));`;
    try {
      const told = await runProgram(code, DENY_THE_THIRD, [120, 40]);
      expect(told).toMatch(/\[Script executed successfully\]\\n1 2 not 3 4 5 6 7 8 9 10 11 12"/);
    } finally {
      writeFileSync(file, before);
    }
  });

  /** Answers beforehand what Claude Code asks on its first start: the colours, the key, and whether the folder is trusted. */
  function welcome(file: string, folder: string): void {
    const state = JSON.parse(readFileSync(file, "utf8"));
    const project = {
      ...state.projects?.[folder],
      hasTrustDialogAccepted: true,
      hasCompletedProjectOnboarding: true,
    };
    const asked = {
      hasCompletedOnboarding: true,
      theme: "dark",
      customApiKeyResponses: { approved: ["dummy"], rejected: [] },
    };
    writeFileSync(
      file,
      JSON.stringify({ ...state, ...asked, projects: { ...state.projects, [folder]: project } }),
    );
  }
});
