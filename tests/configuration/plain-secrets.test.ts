import { describe, expect, it } from "vitest";
import {
  findPlainSecrets,
  SecretVariables,
  withoutArgumentSecrets,
} from "../../configuration/plain-secrets.ts";
import type { ServerEntry } from "../../configuration/settings/server-settings.ts";

const SECRET = "4f9d8e7a6b5c";
const notes = (given: object) => ({ name: "notes", command: "npx", ...given }) as ServerEntry;

describe("a secret in plain text", () => {
  it.each<[string, object, object]>([
    [
      "-e NAME=",
      { args: ["run", "-e", `NOTES_API_KEY=${SECRET}`, "img"] },
      { args: ["run", "-e", "NOTES_API_KEY=${NOTES_API_KEY}", "img"] },
    ],
    [
      "--env=NAME=",
      { args: [`--env=API_TOKEN=${SECRET}`] },
      { args: ["--env=API_TOKEN=${NOTES_API_TOKEN}"] },
    ],
    [
      "--header",
      { args: ["--header", `X-API-Token: ${SECRET}`] },
      { args: ["--header", "X-API-Token: ${NOTES_X_API_TOKEN}"] },
    ],
    [
      "--header=",
      { args: [`--header=Authorization: Bearer ${SECRET}`] },
      { args: ["--header=Authorization: Bearer ${NOTES_AUTHORIZATION}"] },
    ],
    ["-H", { args: ["-H", `Cookie: sid=${SECRET}`] }, { args: ["-H", "Cookie: ${NOTES_COOKIE}"] }],
    [
      "a header without a flag",
      { args: [`Authorization:Bearer ${SECRET}`] },
      { args: ["Authorization:Bearer ${NOTES_AUTHORIZATION}"] },
    ],
    ["--api-key", { args: ["--api-key", SECRET] }, { args: ["--api-key", "${NOTES_API_KEY}"] }],
    ["--token=", { args: [`--token=${SECRET}`] }, { args: ["--token=${NOTES_TOKEN}"] }],
    ["--password", { args: ["--password", SECRET] }, { args: ["--password", "${NOTES_PASSWORD}"] }],
    ["-u user:password", { args: ["-u", `bob:${SECRET}`] }, { args: ["-u", "bob:${NOTES_PASSWORD}"] }],
    [
      "a connection URL",
      { args: [`postgres://u:${SECRET}/@x@db/y`] },
      { args: ["postgres://u:${NOTES_PASSWORD}@db/y"] },
    ],
    [
      "a connection string",
      { args: [`Server=x;Password=${SECRET} 1;Database=y`] },
      { args: ["Server=x;Password=${NOTES_PASSWORD};Database=y"] },
    ],
    ["JSON", { args: [`{"apiKey":"${SECRET}"}`] }, { args: ['{"apiKey":"${NOTES_API_KEY}"}'] }],
    [
      "a line for a shell",
      { args: ["-c", `A_TOKEN=${SECRET} srv --api-key '${SECRET}'`] },
      { args: ["-c", "A_TOKEN=${NOTES_A_TOKEN} srv --api-key '${NOTES_API_KEY}'"] },
    ],
    ["a word of its own", { args: [`${SECRET}${SECRET}${SECRET}`] }, { args: ["${NOTES_SECRET}"] }],
    ["the folder", { cwd: `/x?token=${SECRET}` }, { cwd: "/x?token=${NOTES_TOKEN}" }],
  ])("is not left in the entry: %s", (_, given, written) => {
    const { entry, variables } = withoutArgumentSecrets(notes(given));
    expect(entry).toMatchObject(written);
    expect(variables.map(({ secret }) => secret).join()).toContain(SECRET);
  });

  it("is not left in a command that prints a value", () => {
    const command = ["sh", "-c", `echo '{"Authorization":"Bearer ${SECRET}"}'`];
    const { entry } = withoutArgumentSecrets(notes({ headers: { "*": { command }, X: "y" } }));
    expect(JSON.stringify(entry)).not.toContain(SECRET);
    expect(entry.headers).toMatchObject({ X: "y" });
  });

  it.each([
    ["the query", `?api_key=${SECRET}&a=1`, "?api_key=${NOTES_API_KEY}&a=1"],
    ["a short one in the query", "?token=abc", "?token=${NOTES_TOKEN}"],
    ["the path", `/s/${SECRET}${SECRET}/mcp`, "/s/${NOTES_SECRET}/mcp"],
  ])("is not left in the URL: %s", (_, given, written) => {
    const url = `https://x.example${given}`;
    expect(withoutArgumentSecrets(notes({ url })).entry.url).toBe(`https://x.example${written}`);
  });

  it.each([
    [{ NOTES_API_KEY: SECRET }],
    [{ PASSWORD: "abc" }],
    [{ accountKey: "abcdefgh" }],
    [{ DATABASE: `postgres://u:${SECRET}@h/d` }],
    [{ HEADERS: `{"Authorization":"Bearer ${SECRET}"}` }],
    [{ OPTIONS: `--token ${SECRET}` }],
  ])("is found among variables: %j", (env) => {
    expect(findPlainSecrets(notes({ env })).map(({ key }) => key)).toEqual(Object.keys(env));
  });

  it.each([
    [["--port", "8080"]],
    [["--token-file", "/run/x"]],
    [["--max-tokens", "4096"]],
    [["--auth", "oauth"]],
    [["-e", "MODE=fast"]],
    [["--header", "X-Team: ptc"]],
    [["--api-key", "${KEY}"]],
    [["-y", "@modelcontextprotocol/server-github@2025.4.8"]],
    [["postgres://localhost:5432/x", "https://x.example/a?b=c"]],
    [["--key", "/etc/ssl/key.pem"]],
  ])("is not what only looks like one: %j", (args) => {
    expect(withoutArgumentSecrets(notes({ args })).entry.args).toEqual(args);
  });

  it("has a variable of its own, and equal ones share it", () => {
    const names = new SecretVariables();
    expect(names.nameFor("a", "KEY", "1", true)).toBe("KEY");
    expect(names.nameFor("b", "KEY", "2", true)).toBe("B_KEY");
    expect(names.nameFor("b", "KEY", "2", true)).toBe("B_KEY");
    expect(names.nameFor("b", "KEY", "3")).toBe("B_KEY2");
    expect(names.nameFor("9 x", "api-key", "4")).toBe("_9_X_API_KEY");
  });
});
