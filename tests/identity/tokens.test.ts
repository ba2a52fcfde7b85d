import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Tokens, tokensIn } from "../../identity/tokens.ts";
import { Redactor } from "../../secrets/redaction.ts";
import { KeyList } from "../../secrets/sealing.ts";
import { MemoryDocuments } from "../archive/memory-documents.ts";
import { newFolder } from "../temporary-folder.ts";

const NOTHING = { storage: { url: undefined, encryptionKeys: [] } };
const DAY_MS = 86_400_000;

function open(directory = newFolder()) {
  return { directory, tokens: Tokens.open({ directory, ...NOTHING }, {}) };
}

const given = () => ({ groups: ["ci"], scopes: ["ptc:run" as const], expiresAt: Date.now() + DAY_MS });

test("a token is somebody of its own, with its groups and scopes, also in another process", async () => {
  const { directory, tokens } = open();
  const token = await tokens.create("nightly", given());
  expect(token).toMatch(/^ptc_[\w-]{43}$/);
  expect(await open(directory).tokens.callerOf(token)).toEqual({
    context: { principal: "token#nightly", source: "serve", name: "nightly", groups: ["ci"] },
    scopes: new Set(["ptc:run"]),
  });
});

test("a token keeps the toolsets to which it is narrowed, in a form that a ptc without toolsets does not read", async () => {
  const { directory, tokens } = open();
  const token = await tokens.create("narrow", { ...given(), toolsets: ["reading", "listing"] });
  expect(await open(directory).tokens.callerOf(token)).toMatchObject({
    context: { toolsets: ["listing", "reading"] },
  });
  expect(JSON.parse(readFileSync(join(directory, ".ptc/tokens.json"), "utf8"))).toMatchObject({ version: 2 });
});

test("a token is kept as a digest alone, which its user alone reads", async () => {
  const { directory, tokens } = open();
  const token = await tokens.create("nightly", given());
  const file = join(directory, ".ptc/tokens.json");
  expect(readFileSync(file, "utf8")).not.toContain(token.slice(4));
  expect(statSync(file).mode & 0o077).toBe(0);
});

test("a token is refused that was changed, was revoked, or has expired", async () => {
  const { directory, tokens } = open();
  const token = await tokens.create("nightly", given());
  const refusal = { error: "invalid_token" };
  expect(await tokens.callerOf(`${token.slice(0, -2)}AA`)).toMatchObject(refusal);
  expect(await tokens.callerOf("ptc_short")).toMatchObject(refusal);
  const short = await tokens.create("short", { ...given(), expiresAt: Date.now() - 1 });
  expect(await tokens.callerOf(short)).toMatchObject({ message: "the token has expired" });
  await tokens.revoke("nightly");
  expect(await tokens.callerOf(token)).toMatchObject(refusal);
  expect((await open(directory).tokens.list()).map(({ name }) => name)).toEqual(["short"]);
});

test("two who make tokens at once both have theirs", async () => {
  const { directory } = open();
  const names = ["a", "b", "c", "d"];
  await Promise.all(names.map((name) => open(directory).tokens.create(name, given())));
  expect((await open(directory).tokens.list()).map(({ name }) => name)).toEqual(names);
});

test("a name is somebody's until it is revoked", async () => {
  const { tokens } = open();
  await tokens.create("nightly", given());
  await expect(tokens.create("nightly", given())).rejects.toThrow("there is a token 'nightly'");
  await expect(tokens.revoke("other")).rejects.toThrow("there is no token 'other'");
});

const owned = (groups: string[], ownerGroups: string[]) => ({
  ...given(),
  ...{ groups, owner: "https://login.example.com#eve", ownerGroups },
});

test("a token of somebody's own is bound by the groups of theirs that it does not have", async () => {
  const { tokens } = open();
  const narrow = await tokens.create("narrow", owned(["staff"], ["staff", "contractors"]));
  expect(await tokens.callerOf(narrow)).toMatchObject({
    context: {
      principal: "https://login.example.com#eve",
      groups: ["staff"],
      boundGroups: ["contractors"],
    },
  });
});

test("a later login of its owner binds a token by more groups, and never by fewer", async () => {
  const { directory, tokens } = open();
  const token = await tokens.create("narrow", owned([], ["contractors"]));
  const other = await tokens.create("other", { ...owned([], []), owner: "somebody else" });
  await tokens.learnGroups("https://login.example.com#eve", ["probation"]);
  await tokens.learnGroups("https://login.example.com#eve", undefined);
  const after = open(directory).tokens;
  expect(await after.callerOf(token)).toMatchObject({
    context: { boundGroups: ["contractors", "probation"] },
  });
  expect(await after.callerOf(other)).not.toHaveProperty("context.boundGroups");
});

test("a token of which it is not known what binds its owner lets nobody in", async () => {
  const { directory, tokens } = open();
  const token = await tokens.create("old", owned([], ["contractors"]));
  const file = join(directory, ".ptc/tokens.json");
  writeFileSync(file, readFileSync(file, "utf8").replace(/,"owner_groups":\[[^\]]*\]/, ""));
  expect(await open(directory).tokens.callerOf(token)).toMatchObject({ error: "invalid_token" });
});

test("tokens that cannot be read let nobody in", async () => {
  const { directory, tokens } = open();
  const token = await tokens.create("nightly", given());
  writeFileSync(join(directory, ".ptc/tokens.json"), "{");
  await expect(open(directory).tokens.callerOf(token)).rejects.toThrow("cannot be read");
});

test("a token is redacted wherever text leaves ptc", async () => {
  const { tokens } = open();
  const token = await tokens.create("nightly", given());
  expect(new Redactor([], []).redactText(`it is ${token}.`).value).toBe("it is [REDACTED:ptc-token].");
});

test("tokens in a storage are sealed: what somebody wrote there is no token", async () => {
  const documents = new MemoryDocuments();
  const keys = new KeyList([new Uint8Array(32).fill(1)]);
  const open = () => new Tokens(tokensIn(documents, async () => keys));
  const token = await open().create("nightly", given());
  expect(await open().callerOf(token)).toMatchObject({ context: { principal: "token#nightly" } });
  const [written] = await open().list();
  const forged = { version: 1, tokens: [{ ...written, owner: "ada", owner_groups: [] }] };
  await documents.write("tokens", "all", Buffer.from(JSON.stringify(forged)));
  const why = "the kept tokens are not sealed, so none counts; make them again: `ptc token create`";
  await expect(open().callerOf(token)).rejects.toThrow(why);
  await expect(open().list()).rejects.toThrow(why);
  // What is made then begins anew, without what stood there.
  const again = await open().create("weekly", given());
  expect(await open().callerOf(again)).toMatchObject({ context: { principal: "token#weekly" } });
  expect(await open().callerOf(token)).toMatchObject({ error: "invalid_token" });
  const other = new KeyList([new Uint8Array(32).fill(2)]);
  const purpose = "ptc tokens 1 all";
  await documents.write("tokens", "all", other.seal(Buffer.from(JSON.stringify(forged)), purpose));
  await expect(open().callerOf(token)).rejects.toThrow("the kept tokens cannot be read");
});
