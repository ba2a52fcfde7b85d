/** The viewer, the session that they look with, and what else they have of ptc: passkeys, logins, tokens and sessions. */
import { formatCount } from "../../base/quantities.ts";
import { oneLine } from "../../base/visible-text.ts";
import type { LoginStatus } from "../../logins/logins.ts";
import { html, type Markup, renderSection, renderTable, renderTime } from "../../server/pages/page.ts";
import { BASE, type ConsolePage, type Frame, renderForm, renderHeading } from "../shell.ts";
import type { Rights } from "../viewer.ts";
import { renderLoginForms } from "./servers.ts";

/** A token of ptc's own, without the token itself. Times are milliseconds since 1970. */
export interface KnownToken {
  readonly name: string;
  readonly principal: string;
  readonly groups: readonly string[];
  readonly scopes: readonly string[];
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** The tokens of a project. Neither method rejects. */
export interface KnownTokens {
  list(): Promise<readonly KnownToken[] | { readonly why: string }>;
  /** Resolves with why it could not be revoked. */
  revoke(name: string): Promise<{ readonly why: string } | undefined>;
}

/** A session in which programs of the viewer run, one after the other. Times are milliseconds since 1970. */
export interface KnownSession {
  /** Names it among the sessions of its viewer. */
  readonly id: string;
  readonly name: string;
  readonly language: string;
  readonly programs: number;
  readonly startedAt: number;
  /** `undefined` while a program runs in it. */
  readonly idleSince?: number | undefined;
}

/** The sessions of one viewer. Neither method rejects. */
export interface KnownSessions {
  list(): Promise<readonly KnownSession[] | { readonly why: string }>;
  /** False when there is no such session. */
  end(id: string): Promise<boolean>;
}

interface MePage {
  frame: Frame;
  rights: Rights;
  /** The part of the page about the viewer's passkeys. */
  passkeys: Markup | undefined;
  logins: readonly LoginStatus[] | undefined;
  /** Whether the viewer logs out at servers here. */
  connects: boolean;
  /** `undefined` where the viewer has none to do with. */
  tokens: readonly KnownToken[] | { readonly why: string } | undefined;
  sessions: readonly KnownSession[] | { readonly why: string } | undefined;
  notice: string | undefined;
  nowMs: number;
}

export function renderMe(page: MePage): ConsolePage {
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
${page.tokens && renderTokens(page.tokens, frame, page.nowMs)}`,
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

function renderTokens(found: NonNullable<MePage["tokens"]>, frame: Frame, nowMs: number): Markup {
  if ("why" in found) return renderUnread("tokens", "Tokens", found.why);
  if (found.length === 0)
    return renderSection(
      "tokens",
      "Tokens",
      html`<p class="soft">There are none. <code>ptc token create NAME</code> makes one, for an agent that no issuer knows.</p>`,
    );
  const rows = found.map(({ name, principal, groups, scopes, createdAt, expiresAt }) => ({
    cells: [
      name,
      html`<a href="${BASE}/runs?principal=${encodeURIComponent(principal)}"><code>${principal}</code></a>`,
      html`<span class="wide">${scopes.join(" ")}</span>`,
      html`<span class="wide">${groups.length === 0 ? "none" : groups.join(", ")}</span>`,
      renderTime(createdAt),
      expiresAt <= nowMs ? html`<span class="some">has expired</span>` : renderTime(expiresAt),
      renderForm(
        `${BASE}/me/tokens/revoke`,
        frame,
        html`<input type="hidden" name="name" value="${name}"><button type="submit" aria-label="Revoke: ${name}">Revoke</button>`,
      ),
    ],
  }));
  return renderSection(
    "tokens",
    "Tokens",
    html`<p class="soft">They belong to this project. ptc keeps their digests alone; a revoked one is refused everywhere within seconds.</p><div class="left">${renderTable(["Token", "Principal", "Scopes", "Groups", "Made", "Counts until", "Change"], rows)}</div>`,
  );
}

function renderUnread(id: string, title: string, why: string): Markup {
  return renderSection(id, title, html`<p class="notice" role="alert">${why}</p>`);
}
