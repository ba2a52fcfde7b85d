import { spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const TSC = join(import.meta.dirname, "../../../node_modules/typescript/bin/tsc");

/** What TypeScript's command says of the project in a folder: `file(line,column): error ...`, one line each. */
export function compile(directory: string): string[] {
  const { stdout, status, error } = spawnSync(process.execPath, [TSC, "-p", directory, "--pretty", "false"], {
    cwd: directory,
    encoding: "utf8",
  });
  if (status === null) throw error ?? new Error("tsc did not run");
  return stdout.split("\n").filter((line) => /^\S/.test(line));
}

interface Diagnostic {
  message: string;
  severity?: number;
  range: { start: { line: number; character: number } };
}

/** What an editor shows in a file of a folder, as TypeScript's language server tells it: `line:column message`. */
export async function diagnose(directory: string, file: string): Promise<string[]> {
  const server = spawn(process.execPath, [TSC, "--lsp", "--stdio"], {
    cwd: directory,
    stdio: ["pipe", "pipe", "ignore"],
  });
  const waiting = new Map<number, { resolve: (result: unknown) => void; reject: (reason: Error) => void }>();
  const ended = new Promise<never>((_, reject) =>
    server.once("close", () => reject(new Error("the language server ended"))),
  );
  ended.catch(() => {});
  let received = Buffer.alloc(0);
  server.stdout.on("data", (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    for (;;) {
      const head = received.indexOf("\r\n\r\n");
      const length = Number(/Content-Length: (\d+)/i.exec(received.subarray(0, head).toString())?.[1]);
      if (head < 0 || received.length < head + 4 + length) return;
      const message = JSON.parse(received.subarray(head + 4, head + 4 + length).toString()) as {
        id?: number;
        method?: string;
        result?: unknown;
        error?: { message: string };
      };
      received = received.subarray(head + 4 + length);
      if (message.method !== undefined) {
        if (message.id !== undefined) send({ id: message.id, result: null });
      } else if (message.error !== undefined) {
        waiting.get(message.id ?? 0)?.reject(new Error(message.error.message));
      } else waiting.get(message.id ?? 0)?.resolve(message.result);
    }
  });
  const send = (message: object): void => {
    const text = JSON.stringify({ jsonrpc: "2.0", ...message });
    server.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  };
  let ids = 0;
  const request = (method: string, params: object): Promise<unknown> => {
    const id = ++ids;
    const answer = new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
    send({ id, method, params });
    return Promise.race([answer, ended]);
  };
  try {
    const uri = pathToFileURL(join(directory, file)).href;
    const rootUri = pathToFileURL(directory).href;
    const capabilities = { textDocument: { diagnostic: {} } };
    await request("initialize", { processId: process.pid, rootUri, capabilities });
    send({ method: "initialized", params: {} });
    const text = readFileSync(join(directory, file), "utf8");
    send({
      method: "textDocument/didOpen",
      params: { textDocument: { uri, languageId: "typescript", version: 1, text } },
    });
    const report = (await request("textDocument/diagnostic", { textDocument: { uri } })) as {
      items: Diagnostic[];
    };
    return report.items
      .filter(({ severity = 1 }) => severity <= 2)
      .map(({ message, range: { start } }) => `${start.line + 1}:${start.character + 1} ${message}`);
  } finally {
    server.kill("SIGKILL");
  }
}
