import { describe, expect, it } from "vitest";
import { SharedLogins } from "../../logins/shared-logins.ts";
import { KeyList } from "../../secrets/sealing.ts";
import { type LoginKey, loginName } from "../../upstream/authorization/login-store.ts";
import { MemoryDocuments } from "../archive/memory-documents.ts";

const ADAS = { principal: "ada", url: "https://hub.example/mcp" } as LoginKey;

const LOGIN = {
  ...{ version: 1, ...ADAS, issuer: "https://hub.example", tokenEndpoint: "https://hub.example/token" },
  client: { id: "c", kind: "configured" },
  tokens: { access_token: "a" },
} as never;

describe("a login in a storage", () => {
  it.each([
    ["principal", { ...ADAS, principal: "eve" }],
    ["server", { ...ADAS, url: "https://other.example/mcp" }],
  ])("opens in no other document's place: that of another %s", async (_, other) => {
    const documents = new MemoryDocuments();
    const logins = new SharedLogins(documents, async () => new KeyList([new Uint8Array(32).fill(1)]));
    await logins.write(ADAS, LOGIN);
    const kept = await documents.read("login", loginName(ADAS));
    expect(kept).toBeDefined();
    await documents.write("login", loginName(other as LoginKey), kept?.content ?? new Uint8Array());
    await expect(logins.read(other as LoginKey)).rejects.toThrow("changed since");
    await documents.write("login", loginName(ADAS), kept?.content ?? new Uint8Array());
    await expect(logins.read(ADAS)).resolves.not.toThrow();
  });
});
