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

describeClient("Claude Code on a terminal", findClaudeCode, (claude) => {
  let isAdded = false;

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
      const { home, serve } = served();
      const code = `console.log(await mcp__my_documents__delete_document({ documentId: ${JSON.stringify(LONG)} }));`;
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
      const steps = [
        ["❯", "Go on.\r"],
        ["Callingptc", ""],
        [DIALOG, key],
        ["Allissaid", ""],
      ];
      const shown = await runClient(
        ["python3", ON_A_TERMINAL, JSON.stringify(steps), String(columns), String(rows), ...claude],
        ["--allowedTools", EXECUTE],
        { cwd: home, env },
      );
      expect(shown).toMatchObject({ code: 0, stderr: "" });
      // A prompt that was typed again may stand behind the result.
      expect(JSON.stringify(model.requests.map(({ messages }) => messages))).toMatch(reply);
    },
  );

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
