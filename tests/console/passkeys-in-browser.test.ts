import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasBrowser, openConsole, startBrowser, violations } from "./browser.ts";
import { serveConsole } from "./served-console.ts";

if (!hasBrowser)
  console.warn("SKIPPED: passkeys in a browser. Chromium is not installed (Debian's package is `chromium`).");

const TICKET = "0000000000000001";

describe.skipIf(!hasBrowser)("passkeys in Chromium", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startBrowser();
  }, 60_000);
  afterAll(() => browser?.close());

  /** A console at localhost, open in a browser with a virtual authenticator. */
  async function setUp() {
    const parts = await serveConsole({}, { approvals: { require: "passkey" } }, { name: "localhost" });
    await parts.ask({ ticket: TICKET });
    const { page, context, complaints } = await openConsole(browser, parts.address());
    const devtools = await context.newCDPSession(page);
    await devtools.send("WebAuthn.enable");
    const { authenticatorId } = await devtools.send("WebAuthn.addVirtualAuthenticator", {
      options: {
        ...{ protocol: "ctap2", transport: "internal", hasResidentKey: true },
        ...{ hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
      },
    });
    const register = async () => {
      await page.goto(`${parts.origin}/console/me`);
      await page.click("#add-passkey");
      await page.waitForURL("**/console/me?done=added");
    };
    const verifies = (isUserVerified: boolean) =>
      devtools.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified });
    const credentials = async () =>
      (await devtools.send("WebAuthn.getCredentials", { authenticatorId })).credentials.map(
        ({ credentialId }) => Buffer.from(credentialId, "base64").toString("base64url"),
      );
    const answer = async () => (await parts.pending.offered(TICKET))?.answer;
    return { ...parts, page, context, complaints, register, verifies, credentials, answer };
  }

  it("a person registers one on the page Me, and approves a call with it by keyboard", async () => {
    const { page, context, origin, complaints, register, credentials, answer } = await setUp();
    await register();
    const [id] = await credentials();
    expect(await page.textContent("#passkeys")).toContain(id);
    expect(await violations(page)).toEqual([]);
    await page.goto(`${origin}/console/inbox`);
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press("j");
    await page.keyboard.press("a");
    await page.waitForURL("**/console/inbox?done=approved");
    expect(await answer()).toMatchObject({ decision: "once", proof: { way: "passkey", credential: id } });
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("nothing is sent without a passkey or without its person, and the page says so", async () => {
    const { page, context, origin, register, verifies, answer } = await setUp();
    await page.goto(`${origin}/console/inbox`);
    await page.click('[data-answer="approve"]');
    await page.waitForSelector("[data-said]:has-text('you have no passkey here')");
    await register();
    await verifies(false);
    await page.goto(`${origin}/console/inbox`);
    await page.click('[data-answer="approve"]');
    await page.waitForSelector("[data-said]:has-text('No passkey was used')");
    expect(await answer()).toBeUndefined();
    await page.click('[data-answer="deny"]');
    await page.waitForURL("**/console/inbox?done=denied");
    expect(await answer()).toMatchObject({ decision: "denied" });
    await context.close();
  });

  it("a person removes one with itself, and registers a first one again", async () => {
    const { page, context, register } = await setUp();
    await register();
    await page.click("#passkeys li button");
    await page.waitForURL("**/console/me?done=removed");
    expect(await page.textContent("#passkeys")).toContain("You have none.");
    await register();
    await context.close();
  });
});
