/**
 * The console: pages about what runs, what waits for a person and what may be called. `Console` answers requests below `/console`,
 * whatever server they come through: `ptc console` for one person on loopback, `ptc serve --http` for people who log in.
 *
 * A request passes, in this order: the headers of every answer; where it comes from (`whyForeign`); what anybody may read: style
 * and script; the session, or the way to one (`Entrance`); for a form its size and its token; what the viewer may see (`RightsOf`).
 * Only then is a page made, by the routes in its file (`pages/`). A record of another person is answered exactly as one that does not exist.
 */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { streamSSE } from "hono/streaming";
import { Hono } from "hono/tiny";
import { messageOf } from "../base/faults.ts";
import { writeJson } from "../base/json.ts";
import { hashSource, readPageAssets } from "../server/pages/page.ts";
import { packageDirectory } from "../system/package.ts";
import { Answers, type Asked, type Env, formOf, NotFound, RefusedError } from "./answers.ts";
import { Feed } from "./feed.ts";
import { LiveRuns } from "./live-runs.ts";
import { auditRoutes } from "./pages/audit.ts";
import { catalogRoutes } from "./pages/catalog.ts";
import { inboxRoutes } from "./pages/inbox.ts";
import { meRoutes } from "./pages/me.ts";
import { overviewRoutes } from "./pages/overview.ts";
import { programsRoutes } from "./pages/programs.ts";
import { rulesRoutes } from "./pages/rules.ts";
import { runRoutes } from "./pages/run.ts";
import { runsRoutes } from "./pages/runs.ts";
import { serversRoutes } from "./pages/servers.ts";
import type { ConsoleParts } from "./parts.ts";
import { BASE } from "./shell.ts";
import { Sight } from "./sight.ts";
import { isSameText, Sessions, whyForeign } from "./viewer.ts";

const INTERVAL_MS = 1_000;
const HEARTBEAT_MS = 20_000;
const PLAIN = { "Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff" };

/** Each registers the routes of its pages. */
const PAGES = [
  overviewRoutes,
  runsRoutes,
  runRoutes,
  inboxRoutes,
  serversRoutes,
  catalogRoutes,
  programsRoutes,
  rulesRoutes,
  auditRoutes,
  meRoutes,
];

interface Routed {
  fetch(request: Request, env: Env["Bindings"]): Response | Promise<Response>;
  readonly routes: readonly { readonly method: string; readonly path: string }[];
}

export class Console {
  readonly #answers: Answers;
  readonly #assets = readConsoleAssets();
  readonly #app: Routed;
  readonly #closing = new AbortController();

  constructor(parts: ConsoleParts) {
    const { origin, sealer, now, follow, archive, pending, intervalMs = INTERVAL_MS } = parts;
    const live = follow && new LiveRuns(follow, now);
    const { style, script } = this.#assets;
    this.#answers = new Answers(parts, {
      sessions: new Sessions({ origin, sealer, now }),
      feed: new Feed({ archive, pending, live, intervalMs }),
      live,
      closing: this.#closing.signal,
      assets: { style: style.name, script: script.name },
    });
    this.#app = this.#routes();
  }

  /** Its routes, each as method and path. */
  get routes(): readonly string[] {
    return this.#app.routes.flatMap(({ method, path }) => (method === "ALL" ? [] : `${method} ${path}`));
  }

  /** Answers a request below `/console`. Never rejects. */
  async fetch(request: Request, { address = "" }: { address?: string | undefined } = {}): Promise<Response> {
    // A path that leaves the console by `..` is not one of its pages.
    const { pathname } = new URL(request.url);
    if (pathname !== BASE && !pathname.startsWith(`${BASE}/`))
      return new Response("There is nothing here.\n", { status: 404, headers: PLAIN });
    return this.#app.fetch(request, { address });
  }

  /** Ends feeds, replays, checks and logins in progress. */
  close(): void {
    this.#closing.abort();
    this.#answers.feed.close();
    this.#answers.live?.close();
  }

  #routes(): Routed {
    const app = new Hono<Env>().basePath(BASE);
    const { style, script } = this.#assets;
    app.use(async (c, next) => {
      await next();
      this.#protect(c);
    });
    app.use(async (c, next) => {
      const why = whyForeign(c.req.raw, this.#answers.parts.origin);
      return why === undefined ? next() : this.#answers.bare(c, 403, "Refused", why);
    });
    for (const [{ name, text }, type] of [
      [style, "text/css"],
      [script, "text/javascript"],
    ] as const)
      app.get(`/assets/${name}`, (c) =>
        c.body(text, 200, {
          "Content-Type": `${type}; charset=utf-8`,
          "Cache-Control": "public, max-age=31536000, immutable",
        }),
      );
    app.use((c, next) => this.#identify(c, next));
    app.use((c, next) => this.#checkToken(c, next));

    for (const routesOf of PAGES) routesOf(app, this.#answers);
    app.post("/logout", (c) => this.#logout(c));
    app.get("/feed", (c) => this.#watch(c));
    app.notFound((c) => this.#answers.page(c as Asked, () => Promise.reject(new NotFound())));
    app.onError((error, c) => {
      this.#answers.parts.onWarning(`the console could not answer: ${messageOf(error)}`);
      return this.#answers.bare(
        c as Asked,
        500,
        "Fault",
        "ptc could not answer this. The reason is in the messages of the ptc that serves this page.",
      );
    });
    return app;
  }

  /** Headers of every answer. A page loads only the console's style and script, and cannot be framed. */
  #protect(c: Asked): void {
    const rules = c.get("rules") as string | undefined;
    const policy = [
      "default-src 'none'",
      `style-src 'self'${rules ? ` ${hashSource(rules)}` : ""}`,
      "script-src 'self'",
      "img-src data:",
      "connect-src 'self'",
      "form-action 'self'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ];
    const headers = {
      "Content-Security-Policy": policy.join("; "),
      "X-Frame-Options": "DENY",
      "X-Content-Type-Options": "nosniff",
      // Browsers send the origin of a form only if the referrer policy allows some referrer.
      "Referrer-Policy": "same-origin",
      "Cross-Origin-Opener-Policy": "same-origin",
      "Cross-Origin-Resource-Policy": "same-origin",
      "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    };
    for (const [name, value] of Object.entries(headers)) c.res.headers.set(name, value);
    if (!c.res.headers.has("Cache-Control")) c.res.headers.set("Cache-Control", "no-store");
  }

  /** Admits requests with a session, and directs all others to a login. */
  async #identify(c: Asked, next: () => Promise<void>): Promise<Response | undefined> {
    const { raw, path } = c.req;
    const below = path.slice(BASE.length + 1);
    const isEntering = below === "open" || below === "login" || below === "callback";
    const session = await this.#answers.sessions.of(raw);
    if (session !== undefined && !isEntering) {
      c.set("session", session);
      const rights = await this.#answers.parts.rightsOf(session.viewer);
      c.set("rights", rights);
      c.set("sight", new Sight(session.viewer, rights));
      await next();
      return undefined;
    }
    if (raw.method !== "GET" || below === "feed")
      return this.#answers.bare(c, 401, "No session", "Your session has ended. Open the console again.");
    const entered = await this.#answers.parts.entrance.enter(
      below,
      raw,
      this.#wantedPage(c, below),
      this.#answers.sessions,
      c.env.address,
    );
    switch (entered.kind) {
      case "in": {
        const { principal, groups } = entered.viewer;
        await this.#answers.parts.tokens?.learnGroups(principal, groups);
        const cookie = await this.#answers.sessions.begin(entered.viewer);
        if (cookie === undefined)
          return this.#answers.bare(
            c,
            403,
            "Refused",
            "Your issuer names more groups for you than fit into a cookie.",
          );
        c.header("Set-Cookie", cookie, { append: true });
        c.header("Set-Cookie", this.#answers.sessions.cookie("login", "", 0), { append: true });
        return c.redirect(entered.to, 303);
      }
      case "sent":
        if (entered.cookie !== undefined) c.header("Set-Cookie", entered.cookie, { append: true });
        return c.redirect(entered.to, 303);
      case "refused":
        return this.#answers.bare(c, entered.status, "ptc console", entered.message, entered.choices);
    }
  }

  /** The page that a browser requested before it had a session. It is always a page of the console, whatever the address says. */
  #wantedPage(c: Asked, below: string): string {
    const { search } = new URL(c.req.url);
    const wanted =
      below === "login" ? (c.req.query("to") ?? "") : below === "callback" ? "" : `${BASE}/${below}${search}`;
    return /^\/console\/[\w/?=&%.:*+-]*$/.test(wanted) ? wanted : `${BASE}/`;
  }

  /** A form that changes something contains the token of the session. */
  async #checkToken(c: Asked, next: () => Promise<void>): Promise<Response | undefined> {
    if (c.req.method === "GET" || c.req.method === "HEAD") {
      await next();
      return undefined;
    }
    let token = "";
    try {
      token = (await formOf(c)).get("token") ?? "";
    } catch (error) {
      if (error instanceof RefusedError) return this.#answers.bare(c, 413, "Refused", error.message);
      // An incomplete body has no token.
    }
    if (c.req.method !== "POST" || !isSameText(token, c.get("session").token))
      return this.#answers.bare(
        c,
        403,
        "Refused",
        "This form does not belong to your session. Go back, load the page again and resend the form.",
      );
    await next();
    return undefined;
  }

  #logout(c: Asked): Response {
    c.header("Set-Cookie", this.#answers.sessions.end(c.get("session")), { append: true });
    return this.#answers.bare(c, 401, "You have left", "This browser has no session here now.");
  }

  /** Sends events to a browser until it disconnects or the session ends. */
  #watch(c: Asked): Response {
    const [session, sight] = [c.get("session"), c.get("sight")];
    if (!this.#answers.feed.hasRoomFor(session.viewer))
      return c.body("too many watch", 429, { "Retry-After": "30" });
    const from = { lastId: c.req.header("last-event-id"), runId: c.req.query("run")?.slice(0, 64) };
    return streamSSE(c, async (stream) => {
      const over = new AbortController();
      const signal = AbortSignal.any([over.signal, this.#answers.closing]);
      stream.onAbort(() => over.abort());
      const beat = setInterval(() => {
        if (!this.#answers.sessions.counts(session)) over.abort();
        else void stream.write(": still here\n\n");
      }, HEARTBEAT_MS).unref();
      try {
        await stream.write("retry: 2000\n\n");
        for await (const { event, id, data } of this.#answers.feed.watch(sight, from, signal))
          await stream.writeSSE({ event, id, data: writeJson(data) });
      } finally {
        clearInterval(beat);
      }
    });
  }
}

interface Asset {
  /** Its name changes with its text, so browsers may cache it forever. */
  name: string;
  text: string;
}

/** Reads style and script: in the sources from beside this module, in a build as bundled. */
function readConsoleAssets(): { style: Asset; script: Asset } {
  const shared = readPageAssets();
  const built = import.meta.url.endsWith(".js");
  const folder = join(packageDirectory, built ? "dist" : "", "console/assets");
  const own = (file: string) => readFileSync(join(folder, file), "utf8");
  const library = built
    ? own("webauthn.js")
    : readFileSync(
        join(packageDirectory, "node_modules/@simplewebauthn/browser/dist/bundle/index.umd.min.js"),
        "utf8",
      );
  const named = (text: string, extension: string): Asset => {
    const digest = createHash("sha256").update(text).digest("hex").slice(0, 16);
    return { name: `console-${digest}.${extension}`, text };
  };
  return {
    style: named(shared.style + own("console.css"), "css"),
    script: named([shared.script, own("console.js"), library, own("passkeys.js")].join("\n"), "js"),
  };
}
