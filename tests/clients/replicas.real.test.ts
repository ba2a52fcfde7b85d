/** Several `ptc serve --http` on one storage, behind a balancer that sends each request anywhere. */
import { beforeAll, describe, expect, test } from "vitest";
import { usePostgres, WITHOUT_POSTGRES } from "../archive/postgres/server.ts";
import { describeSandboxed } from "../sandbox/in-sandbox.ts";
import { answerOf, modern, post } from "../server/http/served-http.ts";
import { connectSessions, type Served, serveHttp } from "./http-clients.ts";
import { useServedProject } from "./served-project.ts";

const served = useServedProject();
const postgres = usePostgres();

const READ = `import { getDocument } from "./servers/my_documents/index.js";
console.log(JSON.stringify(await getDocument({ documentId: "a" })));`;
const KEEP = `import { createEntities } from "./servers/memory/index.js";
await createEntities({ entities: [{ name: "note", entityType: "text", observations: ["of my own"] }] });
console.log("kept");`;

const DELETE = `import { deleteDocument } from "./servers/my_documents/index.js";
console.log((await deleteDocument({ documentId: "a" })) !== undefined);`;

/** Sends each request to another of the replicas than the one before, and streams of news to the first. */
function balancer(replicas: readonly Served[]) {
  const sent: Request[] = [];
  const send: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    const to = request.method === "GET" ? 0 : sent.push(request) % replicas.length;
    const { pathname } = new URL(request.url);
    return fetch(new Request(new URL(pathname, replicas[to]?.url), request));
  };
  return { send, sent };
}

describeSandboxed("replicas of ptc serve --http", () => {
  describe.skipIf(WITHOUT_POSTGRES !== "")(`on one storage${WITHOUT_POSTGRES}`, () => {
    let headers: Record<string, string> = {};

    beforeAll(async () => {
      const { folder } = served();
      const configuration = JSON.parse(folder.read("ptc.yaml"));
      const [memory, documents] = ["memory", "my-documents"].map((name) =>
        configuration.servers.find((server: { name: string }) => server.name === name),
      );
      folder.write("ptc.yaml", {
        ...configuration,
        servers: [
          { ...documents, labels: ["untrusted"] },
          { ...memory, accepts: [] },
        ],
        storage: { url: postgres().url(), encryption_key: Buffer.alloc(32, 7).toString("base64") },
        http: { auth: { tokens: true } },
      });
      const scopes = ["--scope", "ptc:run", "--scope", "ptc:approve"];
      const made = await folder.ptc(["token", "create", "agent", ...scopes]);
      headers = { Authorization: `Bearer ${made.stdout.trim()}` };
    });

    const run = async (url: URL, code: string) => {
      const call = modern("tools/call", { name: "execute_program", arguments: { code } });
      return JSON.stringify(await answerOf(await post(url, call, headers)));
    };

    test("keep to what a model was shown at any of them", async () => {
      const { folder } = served();
      const [first, second] = await Promise.all([serveHttp(folder), serveHttp(folder)]);
      expect(await run(second.url, KEEP)).toContain("kept");
      expect(await run(first.url, READ)).toContain("Document a");
      expect(await run(second.url, KEEP)).toContain("since its model was shown some");
    });

    test("are one to a client with a session, also when the one that gave it is gone", async () => {
      const { folder } = served();
      const replicas = await Promise.all([serveHttp(folder), serveHttp(folder), serveHttp(folder)]);
      const { send, sent } = balancer(replicas);
      const asked: string[] = [];
      const client = await connectSessions(new URL("http://balancer.test/mcp"), {
        ...{ headers, fetch: send },
        person: (question) => {
          asked.push(question);
          return { action: "accept", content: { decision: "once" } };
        },
      });
      const execute = async (code: string) => JSON.stringify(await client.call("execute_program", { code }));
      expect(await execute(KEEP)).toContain("kept");
      expect(await execute(DELETE)).toContain("true");
      expect(asked).toEqual([expect.stringContaining("delete_document")]);
      expect(await execute(READ)).toContain("Document a");
      expect(await execute(KEEP)).toContain("since its model was shown some");
      for (const { process } of replicas.splice(0, 2)) {
        process.kill("SIGKILL");
        await process.exited;
      }
      expect(await execute(KEEP)).toContain("since its model was shown some");
      expect(new Set(sent.map((request) => request.headers.get("mcp-session-id"))).size).toBe(2);
    });
  });
});
