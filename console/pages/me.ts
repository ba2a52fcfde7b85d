/** The viewer, the current session, and the viewer's passkeys, logins, tokens and sessions. */

import { formatCount } from "../../base/quantities.ts";
import { oneLine } from "../../base/visible-text.ts";
import type { Scope } from "../../configuration/configuration.ts";
import { SCOPES } from "../../configuration/settings/http-settings.ts";
import type { LoginStatus } from "../../logins/logins.ts";
import { html, type Markup, renderSection, renderTable, renderTime } from "../../server/pages/page.ts";
import { type Answers, type Asked, formOf, NotFound, RefusedError, type Routes } from "../answers.ts";
import type { KnownSession, KnownToken, NewToken } from "../parts.ts";
import { PasskeyPages } from "../passkeys.ts";
import { BASE, type ConsolePage, type Frame, renderForm, renderHeading } from "../shell.ts";
import type { Rights, Viewer } from "../viewer.ts";
import { renderLoginForms } from "./servers.ts";

const MAX_OWN_DAYS = 90;
const MAX_PROJECT_DAYS = 3_650;
const DEFAULT_DAYS = 30;
const DAY_MS = 86_400_000;
const MAX_GROUPS = 100;
const MAX_GROUP_CHARS = 256;

/** Whether a viewer makes tokens of the project, which have no owner. Everybody else makes their own. */
function makesForProject(rights: Rights): boolean {
  return rights.runs === "all";
}

/** The scopes that a viewer may give a token. Every viewer may run programs. */
function scopesOf({ approves = true, audits = false }: Viewer, rights: Rights): readonly Scope[] {
  if (makesForProject(rights)) return SCOPES;
  return SCOPES.filter(
    (scope) => scope === "ptc:run" || (scope === "ptc:approve" ? approves && rights.approves : audits),
  );
}

/**
 * Reads the token that a form requests. The token gets no scope and no group that the viewer does not have.
 *
 * @returns why there is none, in one line, if the form requests an impossible token.
 */
function readTokenForm(
  form: URLSearchParams,
  viewer: Viewer,
  rights: Rights,
  nowMs: number,
): { readonly name: string; readonly wanted: NewToken } | { readonly why: string } {
  const isOfProject = makesForProject(rights);
  const name = (form.get("name") ?? "").trim();
  const asked = form.getAll("scope");
  const scopes = scopesOf(viewer, rights).filter((scope) => asked.includes(scope));
  if (scopes.length === 0)
    return { why: "Choose at least one scope for the token, among those that you have yourself." };
  const given = form.getAll("group").flatMap((text) => (isOfProject ? text.split(",") : [text]));
  const groups = [...new Set(given.map((group) => group.trim()).filter((group) => group !== ""))];
  const isForeign = (group: string) => !isOfProject && viewer.groups?.includes(group) !== true;
  if (
    groups.length > MAX_GROUPS ||
    groups.some((group) => group.length > MAX_GROUP_CHARS || isForeign(group))
  )
    return { why: "A token can have only groups that you are in, and at most 100 of them." };
  const days = Number(form.get("days") ?? "");
  const most = isOfProject ? MAX_PROJECT_DAYS : MAX_OWN_DAYS;
  if (!Number.isInteger(days) || days < 1 || days > most)
    return { why: `A token is valid for 1 to ${most} days.` };
  const owner = isOfProject ? {} : { owner: viewer.principal, ownerGroups: viewer.groups ?? [] };
  return { name, wanted: { groups, scopes, expiresAt: nowMs + days * DAY_MS, ...owner } };
}

interface MePage {
  frame: Frame;
  rights: Rights;
  /** The part of the page about the viewer's passkeys. */
  passkeys: Markup | undefined;
  logins: readonly LoginStatus[] | undefined;
  /** Whether the viewer logs out at servers here. */
  connects: boolean;
  /** `undefined` if the viewer manages no tokens. */
  tokens: readonly KnownToken[] | { readonly why: string } | undefined;
  /** The outcome of making a token: the token, shown only once, or why there is none. */
  made:
    | { readonly name: string; readonly token: string }
    | { readonly why: string; readonly form: URLSearchParams }
    | undefined;
  /** Whether `ptc serve --http` takes tokens. */
  tokensCount: boolean;
  sessions: readonly KnownSession[] | { readonly why: string } | undefined;
  notice: string | undefined;
  nowMs: number;
}

function renderMe(page: MePage): ConsolePage {
  const { frame, rights, passkeys, logins = [], notice } = page;
  const { viewer, until } = frame.session;
  const groups = viewer.groups ?? [];
  const facts = [
    ["Name", viewer.name],
    ["Principal", html`<code>${viewer.principal}</code>`],
    ["Groups", groups.length === 0 ? "none" : groups.join(", ")],
    [
      "Sees runs",
      rights.runs === "all"
        ? "of everybody"
        : `of their own${rights.gate === undefined ? "" : ", and of others where a rule permits read_runs"}`,
    ],
    [
      "Sees the audit log",
      rights.audit === "all"
        ? "all of it"
        : `of their own${rights.audit === "own" ? "" : ", and all of it where a rule permits audit"}`,
    ],
    [
      "Answers questions",
      rights.approves
        ? rights.gate === undefined
          ? "those that wait for them"
          : "their own, and those of others where a rule permits approve"
        : "none here",
    ],
    ["Replays runs", rights.replays ? "those that they see" : "none here"],
    ["Session ends", renderTime(until)],
  ] as const;
  return {
    title: "Me",
    place: "me",
    header: renderHeading("Me"),
    main: html`${notice === undefined ? undefined : html`<p class="notice" role="status">${notice}</p>`}<dl class="facts-list">${facts.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>
<div class="actions">${renderForm(`${BASE}/logout`, frame, html`<button type="submit">Leave the console</button>`)}${renderForm(`${BASE}/me/sessions/others`, frame, html`<button type="submit">End my other sessions of the console</button>`)}</div>
${passkeys}
${renderLogins(logins, page.connects ? frame : undefined)}
${page.sessions && renderSessions(page.sessions, frame)}
${page.tokens && renderTokens(page.tokens, page)}`,
  };
}

function renderLogins(logins: readonly LoginStatus[], frame: Frame | undefined): Markup | undefined {
  const kept = logins.filter(({ state }) => state === "logged_in" || state === "ended");
  if (kept.length === 0) return undefined;
  const rows = kept.map((login) => {
    const { server, state, issuer, scope, expiresAt, renews } = login;
    const until =
      state === "ended"
        ? html`<span class="some">has ended</span>`
        : renews === true
          ? "renewed by itself"
          : expiresAt === undefined
            ? ""
            : html`until ${renderTime(Date.parse(expiresAt))}`;
    return {
      cells: [
        server,
        html`<span class="wide">${oneLine(issuer ?? "", 200)}</span>`,
        html`<span class="wide">${oneLine(scope ?? "", 200)}</span>`,
        until,
        frame === undefined ? "" : renderLoginForms(login, frame),
      ],
    };
  });
  return renderSection(
    "logins",
    "Logins at servers",
    html`<div class="left">${renderTable(["Server", "Issuer", "Scopes", "Lasts", "Change"], rows)}</div>`,
    html`<a href="${BASE}/servers">All servers</a>`,
  );
}

function renderSessions(found: NonNullable<MePage["sessions"]>, frame: Frame): Markup | undefined {
  if ("why" in found) return renderUnread("sessions", "Sessions of programs", found.why);
  if (found.length === 0) return undefined;
  const rows = found.map(({ id, name, language, programs, startedAt, idleSince }) => ({
    cells: [
      name,
      language,
      formatCount(programs),
      renderTime(startedAt),
      idleSince === undefined ? "runs one now" : html`idle since ${renderTime(idleSince)}`,
      renderForm(
        `${BASE}/me/sessions/end`,
        frame,
        html`<input type="hidden" name="session" value="${id}"><button type="submit" aria-label="End: ${name}">End</button>`,
      ),
    ],
  }));
  return renderSection(
    "sessions",
    "Sessions of programs",
    html`<p class="soft">Ending one ends the program that runs in it. Its names and files are lost.</p><div class="left">${renderTable(["Session", "Language", "Programs", "Since", "State", "Change"], rows)}</div>`,
  );
}

function renderTokens(found: NonNullable<MePage["tokens"]>, page: MePage): Markup {
  const { frame, rights, nowMs } = page;
  if ("why" in found) return renderUnread("tokens", "Tokens", found.why);
  const isOfProject = makesForProject(rights);
  const about = isOfProject
    ? "Each token of the project is a principal of its own, for an agent that no issuer knows. One that a person made acts as that person."
    : "Anybody who has one of your tokens acts here as you, within its scopes and groups. It is valid until it expires or you revoke it, even when you are no longer in a group that it has.";
  const note = page.tokensCount
    ? undefined
    : html`<p class="soft">They count where <code>ptc serve --http</code> asks who comes: <code>http.auth</code> in ptc.yaml.</p>`;
  const parts = html`<p class="soft">${about} ptc keeps their digests alone; a revoked one is refused everywhere within seconds.</p>${note}
${page.made && renderMade(page.made)}
${renderTokenForm(page)}`;
  if (found.length === 0) return renderSection("tokens", "Tokens", parts);
  const rows = found.map(({ name, principal, owner, groups, scopes, createdAt, expiresAt }) => ({
    cells: [
      name,
      html`<a href="${BASE}/runs?principal=${encodeURIComponent(principal)}"><code>${principal}</code></a>`,
      scopes.join(" "),
      html`<span class="wide">${groups.length === 0 ? "none" : groups.join(", ")}</span>`,
      renderTime(createdAt),
      expiresAt <= nowMs ? html`<span class="some">has expired</span>` : renderTime(expiresAt),
      renderForm(
        `${BASE}/me/tokens/revoke`,
        frame,
        html`<input type="hidden" name="name" value="${name}"><input type="hidden" name="owner" value="${owner ?? ""}"><button type="submit" aria-label="Revoke: ${name}">Revoke</button>`,
      ),
    ],
  }));
  return renderSection(
    "tokens",
    "Tokens",
    html`${parts}<div class="left">${renderTable(["Token", "Acts as", "Scopes", "Groups", "Made", "Counts until", "Change"], rows)}</div>`,
  );
}

function renderMade(made: NonNullable<MePage["made"]>): Markup {
  if ("why" in made) return html`<p class="outcome impossible" role="alert">${made.why}</p>`;
  return html`<div class="outcome same" role="status"><p><strong>This is the token '${made.name}'.</strong> It is shown this once: copy it now.</p><p><code class="secret">${made.token}</code></p></div>`;
}

const SCOPE_NOTES: Readonly<Record<Scope, string>> = {
  "ptc:run": "run programs",
  "ptc:approve": "answer questions, also those of its own programs",
  "ptc:admin": "read the audit log and metrics, where a rule permits it",
};

function renderTokenForm({ frame, rights, made }: MePage): Markup {
  const { viewer } = frame.session;
  const isOfProject = makesForProject(rights);
  const form = made !== undefined && "form" in made ? made.form : undefined;
  const has = (name: string, value: string, otherwise = false) =>
    form === undefined ? otherwise : form.getAll(name).includes(value);
  const choice = (name: string, value: string, text: string, isChecked: boolean) =>
    html`<label class="choice"><input type="checkbox" name="${name}" value="${value}"${isChecked ? html` checked` : undefined}> ${text}</label>`;
  const scopes = scopesOf(viewer, rights).map((scope) =>
    choice("scope", scope, `${scope}: ${SCOPE_NOTES[scope]}`, has("scope", scope, scope === "ptc:run")),
  );
  const own = (viewer.groups ?? []).slice(0, MAX_GROUPS);
  const groups = isOfProject
    ? html`<label><span>Groups, with commas between them</span><input type="text" name="group" value="${form?.get("group") ?? ""}" maxlength="2000" autocomplete="off" spellcheck="false"></label>`
    : own.length === 0
      ? undefined
      : html`<fieldset class="choices"><legend>Groups</legend>${own.map((group) => choice("group", group, oneLine(group, 100), has("group", group)))}</fieldset>`;
  return html`<details class="fold"${form === undefined ? undefined : html` open`}><summary>Make a token</summary>${renderForm(
    `${BASE}/me/tokens`,
    frame,
    html`<label><span>Name</span><input type="text" name="name" value="${form?.get("name") ?? ""}" placeholder="laptop" required maxlength="64" autocomplete="off" spellcheck="false"></label>
<label><span>Days</span><input type="number" name="days" value="${form?.get("days") ?? DEFAULT_DAYS}" min="1" max="${isOfProject ? MAX_PROJECT_DAYS : MAX_OWN_DAYS}" required></label>
<fieldset class="choices"><legend>It may</legend>${scopes}</fieldset>
${groups}
<button type="submit">Make it</button>`,
    html` class="filters"`,
  )}</details>`;
}

function renderUnread(id: string, title: string, why: string): Markup {
  return renderSection(id, title, html`<p class="notice" role="alert">${why}</p>`);
}

const NOTICES: Readonly<Record<string, string>> = {
  revoked: "The token is revoked.",
  ended: "The session has ended.",
  alone: "Your other sessions of the console have ended here.",
};

/** Registers the routes of the page Me and of its forms. */
export function meRoutes(app: Routes, answers: Answers): void {
  const passkeyPages = new PasskeyPages(
    answers.parts.passkeys,
    () => answers.parts.configuration().approvals.require,
  );
  app.get("/me", (c) => answers.page(c, () => showMe(c)));
  app.post("/me/passkeys", (c) => answers.act(c, async () => passkeyPages.register(await ownForm(c))));
  app.post("/me/passkeys/remove", (c) => answers.act(c, async () => passkeyPages.remove(await ownForm(c))));
  app.post("/me/passkeys/use", (c) => answers.json(c, async () => passkeyPages.askForUse(await ownForm(c))));
  app.post("/me/passkeys/offer", (c) => answers.json(c, async () => passkeyPages.offer(await ownForm(c))));
  app.post("/me/tokens", (c) => answers.page(c, () => createToken(c)));
  app.post("/me/tokens/revoke", (c) => answers.act(c, () => revokeToken(c)));
  app.post("/me/sessions/end", (c) => answers.act(c, () => endSession(c)));
  app.post("/me/sessions/others", (c) =>
    answers.act(c, async () => {
      answers.sessions.endOthers(c.get("session"));
      return `${BASE}/me?done=alone`;
    }),
  );

  /** @param made the outcome of making a token. */
  async function showMe(c: Asked, made?: Parameters<typeof renderMe>[0]["made"]): Promise<ConsolePage> {
    const { logins, connect, sessions, tokens, now } = answers.parts;
    const { viewer } = c.get("session");
    const [rights, done] = [c.get("rights"), c.req.query("done") ?? ""];
    const frame = await answers.frame(c);
    const [passkeys, knownLogins, knownSessions, knownTokens] = await Promise.all([
      rights.approves ? passkeyPages.render(frame, done) : undefined,
      logins?.(viewer),
      sessions?.(viewer).list(),
      tokensOf(c),
    ]);
    return renderMe({
      frame,
      rights,
      passkeys,
      logins: knownLogins,
      connects: connect !== undefined,
      sessions: knownSessions,
      tokens: knownTokens,
      notice: NOTICES[done],
      nowMs: now(),
      made,
      tokensCount: tokens?.counts() ?? false,
    });
  }

  /** The tokens that a viewer manages: all of them, or their own if ptc accepts tokens. */
  async function tokensOf(c: Asked): Promise<readonly KnownToken[] | { readonly why: string } | undefined> {
    const { tokens } = answers.parts;
    const { seesAll, viewer } = c.get("sight");
    if (tokens === undefined || !(seesAll || tokens.counts())) return undefined;
    const found = await tokens.list();
    return "why" in found || seesAll ? found : found.filter(({ owner }) => owner === viewer.principal);
  }

  /** Makes a token and shows it: only this answer contains it. */
  async function createToken(c: Asked): Promise<ConsolePage> {
    const { tokens, now } = answers.parts;
    const { seesAll, viewer } = c.get("sight");
    if (tokens === undefined || !(seesAll || tokens.counts())) throw new NotFound();
    const form = await formOf(c);
    const read = readTokenForm(form, viewer, c.get("rights"), now());
    const made = "why" in read ? read : await tokens.create(read.name, read.wanted);
    if ("why" in made) return { ...(await showMe(c, { why: made.why, form })), status: 400 };
    return showMe(c, { name: "name" in read ? read.name : "", token: made.token });
  }

  async function revokeToken(c: Asked): Promise<string> {
    const { tokens } = answers.parts;
    const { seesAll, viewer } = c.get("sight");
    if (tokens === undefined || !(seesAll || tokens.counts())) throw new NotFound();
    const form = await formOf(c);
    const owner = seesAll ? form.get("owner") || undefined : viewer.principal;
    const refused = await tokens.revoke(form.get("name") ?? "", owner);
    if (refused !== undefined) throw new RefusedError(409, refused.why);
    return `${BASE}/me?done=revoked`;
  }

  async function endSession(c: Asked): Promise<string> {
    const { sessions } = answers.parts;
    if (sessions === undefined) throw new NotFound();
    const id = (await formOf(c)).get("session") ?? "";
    const hasEnded = await sessions(c.get("session").viewer).end(id);
    if (!hasEnded) throw new RefusedError(409, "You have no such session; it may have ended already.");
    return `${BASE}/me?done=ended`;
  }

  /** The viewer's operations on their own passkeys. */
  async function ownForm(c: Asked): Promise<{ viewer: Viewer; form: URLSearchParams }> {
    if (!c.get("rights").approves) throw new RefusedError(403, "You may not answer questions here.");
    return { viewer: c.get("session").viewer, form: await formOf(c) };
  }
}
