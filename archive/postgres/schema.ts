/**
 * The tables in PostgreSQL, and their migrations. As in SQLite, a run is one record among the values (`blobs`), and all other
 * tables only serve to find it. Runs, their tools, their values and the references to values are in one partition for each
 * month. The month is that of the day from which the age of a run counts, so that an old month is dropped as a whole.
 *
 * All runs of a database are one chain. A process that appends locks the head while one function runs (`ptc_append`), and does
 * not wait for the disk meanwhile. The transaction commits without waiting, and `FLUSH` then flushes the server's log up to it
 * before ptc reports success. The server writes its log in order, so that the durable part is always a beginning of the chain.
 * Lines of the audit log are appended in the same way.
 */
import * as z from "zod/mini";
import { ArchiveError } from "../archive-error.ts";
import { LAST_INSTANT_MS, LONGEST_MS, MAX_CALLS, MAX_COUNT } from "../bounds.ts";
import { type PgDatabase, type Statements, sqlStateOf } from "./database.ts";

/** Waits until all earlier commits are on the server's disk: it writes a record to the server's log, and its commit waits. */
export const FLUSH = "SELECT pg_logical_emit_message(true, 'ptc', '') IS NOT NULL AS flushed";

/** SQL condition that the numbers of a row about some calls are possible: no more bytes than these calls can return. */
const HAS_SOUND_CALLS = `started_at BETWEEN 0 AND ${LAST_INSTANT_MS} AND calls BETWEEN 0 AND ${MAX_CALLS}
  AND failed_calls BETWEEN 0 AND calls AND result_bytes BETWEEN 0 AND calls * ${MAX_COUNT}`;

/** SQL condition that the numbers in a row of `runs` are possible. */
export const IS_SOUND_RUN = `(${HAS_SOUND_CALLS} AND duration_ms BETWEEN 0 AND ${LONGEST_MS}
  AND returned_bytes BETWEEN 0 AND ${Number.MAX_SAFE_INTEGER})`;

/** SQL condition that the numbers in a row of `run_tools` are possible. */
const ARE_SOUND_CALLS = `(${HAS_SOUND_CALLS} AND duration_ms BETWEEN 0 AND calls::float8 * ${LONGEST_MS})`;

/** The tables that have a partition for each month. */
export const MONTHLY = ["runs", "run_tools", "run_blobs", "blobs"] as const;

/** Columns of sums of a day's rows in `runs`, in the order of `run_days`. */
export const RUN_DAY_SUMS = `started_at / 86400000 AS day, status, count(*) AS runs, sum(calls) AS calls,
  sum(duration_ms) AS duration_ms, sum(result_bytes) AS result_bytes,
  sum(greatest(result_bytes - returned_bytes, 0)) AS kept_bytes`;
export const RUN_DAY_CONDITION = `${IS_SOUND_RUN} AND source <> 'replay'`;

/** Columns of sums of a day's rows in `run_tools`, in the order of `tool_days`. */
export const TOOL_DAY_SUMS = `started_at / 86400000 AS day, tool, count(*) AS runs, sum(calls) AS calls,
  sum(failed_calls) AS failed_calls, sum(duration_ms::numeric) AS duration_ms, sum(result_bytes) AS result_bytes`;
export const TOOL_DAY_CONDITION = `${ARE_SOUND_CALLS} AND NOT replay`;

/** SQL that adds the sums of some rows to the sums of their days, or subtracts them. */
export function changeRunDays(rows: string, sign: "+" | "-"): string {
  return changeDays(
    "run_days",
    "status",
    ["runs", "calls", "duration_ms", "result_bytes", "kept_bytes"],
    sign,
  )(`SELECT ${RUN_DAY_SUMS} FROM ${rows} AS changed WHERE ${RUN_DAY_CONDITION} GROUP BY 1, 2 ORDER BY 1, 2`);
}

/** The same for the tools of runs. */
export function changeToolDays(rows: string, sign: "+" | "-"): string {
  return changeDays(
    "tool_days",
    "tool",
    ["runs", "calls", "failed_calls", "duration_ms", "result_bytes"],
    sign,
  )(
    `SELECT ${TOOL_DAY_SUMS} FROM ${rows} AS changed WHERE ${TOOL_DAY_CONDITION} GROUP BY 1, 2 ORDER BY 1, 2`,
  );
}

function changeDays(table: string, key: string, sums: readonly string[], sign: "+" | "-") {
  const set = (from: string) => sums.map((sum) => `${sum} = days.${sum} ${sign} ${from}.${sum}`).join(", ");
  return (select: string) =>
    sign === "+"
      ? `INSERT INTO ${table} AS days (day, ${key}, ${sums.join(", ")}) ${select}
         ON CONFLICT (day, ${key}) DO UPDATE SET ${set("excluded")}`
      : `UPDATE ${table} AS days SET ${set("gone")} FROM (${select}) AS gone
         WHERE days.day = gone.day AND days.${key} = gone.${key};
         DELETE FROM ${table} WHERE runs <= 0`;
}

/** Statement triggers, which update the sums of days whenever rows change. */
function dayTriggers(table: string, change: (rows: string, sign: "+" | "-") => string): string {
  const trigger = (name: string, when: string, rows: string, sign: "+" | "-") => `
    CREATE FUNCTION ptc_${table}_${name}() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN ${change(rows, sign)}; RETURN NULL; END $$;
    CREATE TRIGGER ${name} AFTER ${when.split(" ")[0]} ON ${table}
      REFERENCING ${when.split(" ").slice(1).join(" ")} FOR EACH STATEMENT EXECUTE FUNCTION ptc_${table}_${name}();`;
  return [
    trigger("inserted", "INSERT NEW TABLE AS added", "added", "+"),
    trigger("deleted", "DELETE OLD TABLE AS removed", "removed", "-"),
    trigger("updated_from", "UPDATE OLD TABLE AS removed", "removed", "-"),
    trigger("updated_to", "UPDATE NEW TABLE AS added", "added", "+"),
  ].join("\n");
}

/** SQL of the link of an entry (chain.ts). Both texts are digests, so that their JSON needs no escaping. */
const LINK_TO = (previous: string, entry: string) =>
  `'sha256:' || encode(sha256(convert_to('{"entry":"' || ${entry} || '","previous":"' || ${previous} || '"}', 'UTF8')), 'hex')`;

/** The lock that appending processes share, and that a process holds alone while it removes values or partitions. */
const VALUES_LOCK = "hashtext('ptc values ' || current_schema()), 1";
const SHARE_VALUES = `pg_advisory_xact_lock_shared(${VALUES_LOCK})`;
export const LOCK_VALUES = `pg_advisory_xact_lock(${VALUES_LOCK})`;

/** An SQLSTATE of ptc: a value that a run names is missing. */
export const VALUE_MISSING = "PTC01";

/** The n-th entry migrates a schema from version n to n + 1. Entries are only added, never edited. */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE meta (key text PRIMARY KEY, value bigint NOT NULL);

  -- JSON text, by the SHA-256 of its UTF-8. codec: 0 as it is, 1 Brotli.
  CREATE SEQUENCE blob_ids;
  CREATE TABLE blobs (
    month bigint NOT NULL,
    id bigint NOT NULL DEFAULT nextval('blob_ids'),
    digest bytea NOT NULL,
    codec smallint NOT NULL,
    size bigint NOT NULL,
    content bytea NOT NULL,
    PRIMARY KEY (id, month),
    UNIQUE (digest, month)
  ) PARTITION BY LIST (month);
  -- What is worth it is compressed before it comes here.
  ALTER TABLE blobs ALTER content SET STORAGE EXTERNAL;

  -- Records are numbered without gaps, and each links to the one before it.
  CREATE TABLE runs (
    month bigint NOT NULL,
    id bigint NOT NULL,
    run_id text COLLATE "C" NOT NULL,
    record_digest text NOT NULL,
    previous text NOT NULL,
    link text NOT NULL,
    imported_at bigint,
    origin text,
    input_digest text COLLATE "C" NOT NULL,
    started_at bigint NOT NULL,
    source text NOT NULL,
    principal text NOT NULL,
    client_session text COLLATE "C",
    "user" text,
    host text,
    client text,
    status text NOT NULL,
    duration_ms bigint NOT NULL,
    calls bigint NOT NULL,
    failed_calls bigint NOT NULL,
    result_bytes bigint NOT NULL,
    returned_bytes bigint NOT NULL,
    redactions bigint NOT NULL,
    file_name text NOT NULL,
    title text NOT NULL,
    PRIMARY KEY (id, month),
    UNIQUE (run_id, month)
  ) PARTITION BY LIST (month);
  -- With what is counted of a part of a day.
  CREATE INDEX runs_by_time ON runs (started_at, id)
    INCLUDE (source, status, duration_ms, calls, failed_calls, result_bytes, returned_bytes);
  CREATE INDEX runs_by_input ON runs (input_digest, started_at);
  CREATE INDEX runs_by_status ON runs (status, started_at, id);
  CREATE INDEX runs_that_failed ON runs (started_at, id) WHERE status <> 'ok';
  CREATE INDEX runs_by_client_session ON runs (client_session, started_at) WHERE client_session IS NOT NULL;
  CREATE INDEX runs_unsound ON runs (id) WHERE ${IS_SOUND_RUN} IS NOT TRUE;

  CREATE TABLE tools (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL,
    server text COLLATE "C" NOT NULL,
    UNIQUE (name, server)
  );

  -- The calls of one run to one tool, counted.
  CREATE TABLE run_tools (
    month bigint NOT NULL,
    tool integer NOT NULL,
    started_at bigint NOT NULL,
    run bigint NOT NULL,
    replay boolean NOT NULL,
    calls bigint NOT NULL,
    failed_calls bigint NOT NULL,
    duration_ms double precision NOT NULL,
    result_bytes bigint NOT NULL,
    PRIMARY KEY (tool, started_at, run, month)
  ) PARTITION BY LIST (month);
  CREATE INDEX run_tools_by_run ON run_tools (run);
  CREATE INDEX run_tools_by_time ON run_tools (started_at)
    INCLUDE (tool, replay, calls, failed_calls, duration_ms, result_bytes);

  CREATE TABLE run_blobs (
    month bigint NOT NULL,
    run bigint NOT NULL,
    blob bigint NOT NULL,
    PRIMARY KEY (run, blob, month)
  ) PARTITION BY LIST (month);
  CREATE INDEX run_blobs_by_blob ON run_blobs (blob);

  -- What a run under way has handed over early, because it is large.
  CREATE TABLE held_blobs (
    holder text NOT NULL,
    blob bigint NOT NULL,
    held_at bigint NOT NULL,
    PRIMARY KEY (holder, blob)
  );
  CREATE INDEX held_blobs_by_blob ON held_blobs (blob);

  -- The places of pruned runs in the chain, and the entries that say what was pruned.
  CREATE TABLE tombstones (id bigint PRIMARY KEY, entry text NOT NULL, pruned_at bigint NOT NULL);
  CREATE TABLE prunings (id bigint PRIMARY KEY, previous text NOT NULL, statement text NOT NULL);

  -- 'start': the last of the pruned runs that nothing older is left of. 'head': the newest run.
  CREATE TABLE chain_ends (name text PRIMARY KEY, id bigint NOT NULL, link text NOT NULL);
  INSERT INTO chain_ends VALUES ('start', 0, 'none'), ('head', 0, 'none');

  -- Sums over the runs of each day (UTC, counted from 1970), so that counts over many runs read few rows.
  CREATE TABLE run_days (
    day bigint NOT NULL, status text NOT NULL, runs bigint NOT NULL, calls numeric NOT NULL, duration_ms numeric NOT NULL,
    result_bytes numeric NOT NULL, kept_bytes numeric NOT NULL, PRIMARY KEY (day, status)
  ) WITH (fillfactor = 50);
  CREATE TABLE tool_days (
    day bigint NOT NULL, tool integer NOT NULL, runs bigint NOT NULL, calls numeric NOT NULL, failed_calls numeric NOT NULL,
    duration_ms numeric NOT NULL, result_bytes numeric NOT NULL, PRIMARY KEY (day, tool)
  ) WITH (fillfactor = 50);
  ${dayTriggers("runs", changeRunDays)}
  ${dayTriggers("run_tools", changeToolDays)}

  -- Keeps texts that are not kept yet, and returns the ids of all, in their order. Digests and contents are handed over as one
  -- value each, because an array of them would be sent as text.
  CREATE FUNCTION ptc_put(p_month bigint, p_digests bytea, p_codecs smallint[], p_sizes bigint[], p_lengths integer[], p_contents bytea)
  RETURNS bigint[] LANGUAGE plpgsql AS $$
  DECLARE
    v_ids bigint[];
    v_count integer := length(p_digests) / 32;
  BEGIN
    PERFORM ${SHARE_VALUES};
    IF coalesce(array_length(p_lengths, 1), 0) > 0 THEN
      -- In the order of their digests, so that two who keep the same do not wait for each other.
      INSERT INTO blobs (month, digest, codec, size, content)
        SELECT p_month, given.digest, given.codec, given.size, given.content FROM (
          SELECT substring(p_digests FROM 32 * (at - 1) + 1 FOR 32) AS digest, p_codecs[at] AS codec, p_sizes[at] AS size,
            substring(p_contents FROM (sum(greatest(p_lengths[at], 0)) OVER (ORDER BY at) - greatest(p_lengths[at], 0) + 1)::integer
              FOR greatest(p_lengths[at], 0)) AS content,
            p_lengths[at] AS length
          FROM generate_series(1, v_count) AS at
        ) AS given
        LEFT JOIN LATERAL (SELECT id FROM blobs WHERE blobs.digest = given.digest LIMIT 1) AS known ON true
        WHERE given.length >= 0 AND known.id IS NULL
        ORDER BY given.digest
        ON CONFLICT (digest, month) DO NOTHING;
    END IF;
    SELECT array_agg(found.id ORDER BY at) INTO v_ids FROM generate_series(1, v_count) AS at
      LEFT JOIN LATERAL (
        SELECT id FROM blobs WHERE digest = substring(p_digests FROM 32 * (at - 1) + 1 FOR 32) LIMIT 1
      ) AS found ON true;
    IF array_position(v_ids, NULL) IS NOT NULL THEN
      RAISE EXCEPTION 'a value is missing' USING ERRCODE = '${VALUE_MISSING}';
    END IF;
    RETURN coalesce(v_ids, '{}');
  END $$;

  -- The audit log: its lines, and the newest of them. What somebody wrote without an answer is found by its batch.
  CREATE TABLE audit_lines (seq bigint PRIMARY KEY, at bigint NOT NULL, batch text NOT NULL, line text NOT NULL);
  CREATE INDEX audit_lines_by_time ON audit_lines USING brin (at);
  CREATE TABLE audit_head (is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only), seq bigint NOT NULL, hash text NOT NULL);
  INSERT INTO audit_head VALUES (true, 0, 'none');

  -- What waits for approvals. A row that is gone stays until it expires, for whoever asks whether it was taken.
  CREATE TABLE pending (
    ticket text PRIMARY KEY,
    principal text NOT NULL,
    asked_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    question bytea NOT NULL,
    answer bytea,
    run bytea,
    owner text,
    owner_seen timestamptz NOT NULL DEFAULT now(),
    gone boolean NOT NULL DEFAULT false
  );
  CREATE INDEX pending_by_principal ON pending (principal, asked_at);
  CREATE INDEX pending_by_expiry ON pending (expires_at);

  -- Whatever is kept under a name, such as logins. The version counts its changes.
  CREATE SEQUENCE document_versions;
  CREATE TABLE documents (
    kind text NOT NULL,
    name text COLLATE "C" NOT NULL,
    version bigint NOT NULL DEFAULT nextval('document_versions'),
    content bytea NOT NULL,
    PRIMARY KEY (kind, name)
  );

  -- Locks that a process holds for as long as it renews them.
  CREATE TABLE locks (name text PRIMARY KEY, holder text NOT NULL, until timestamptz NOT NULL);
  `,
  `
  -- What principals use (counters.ts): a row for each name and span, which begins anew with each span. One of what is held has no
  -- number of its own, and is locked by whoever counts.
  CREATE TABLE limit_counts (
    name text COLLATE "C" NOT NULL,
    span text COLLATE "C" NOT NULL,
    began bigint NOT NULL DEFAULT 0,
    used bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (name, span)
  ) WITH (fillfactor = 50);
  CREATE TABLE limit_holds (
    name text COLLATE "C" NOT NULL,
    holder text NOT NULL,
    held bigint NOT NULL,
    until timestamptz NOT NULL,
    PRIMARY KEY (name, holder)
  ) WITH (fillfactor = 50);
  CREATE INDEX limit_holds_by_holder ON limit_holds (holder);

  CREATE FUNCTION ptc_count(p_holder text, p_hold_ms integer, p_holds jsonb, p_settle jsonb, p_admissions jsonb)
  RETURNS jsonb LANGUAGE plpgsql AS $$
  DECLARE
    v_names text[];
    v_spans text[];
    v_now bigint;
    v_until timestamptz;
    v_admission jsonb;
    v_take record;
    v_used bigint;
    v_began bigint;
    v_ok boolean;
    v_counts jsonb;
    v_result jsonb := '[]';
  BEGIN
    -- What a crash of the server takes back is a moment of counting.
    PERFORM set_config('synchronous_commit', 'off', true);
    SELECT array_agg(name ORDER BY name COLLATE "C", span COLLATE "C"), array_agg(span ORDER BY name COLLATE "C", span COLLATE "C")
      INTO v_names, v_spans FROM (
        SELECT take->>'name' AS name, take->>'span' AS span
          FROM jsonb_array_elements(p_admissions) AS admission, jsonb_array_elements(admission) AS take
        UNION SELECT settled->>'name', settled->>'span' FROM jsonb_array_elements(p_settle) AS settled
      ) AS named;
    -- Everybody takes the rows in one order, so that no two wait for each other.
    INSERT INTO limit_counts (name, span)
      SELECT named.name, named.span FROM unnest(v_names, v_spans) AS named(name, span)
      WHERE NOT EXISTS (SELECT FROM limit_counts WHERE limit_counts.name = named.name AND limit_counts.span = named.span)
      ORDER BY named.name COLLATE "C", named.span COLLATE "C" ON CONFLICT DO NOTHING;
    PERFORM FROM limit_counts JOIN unnest(v_names, v_spans) AS named(name, span)
      ON limit_counts.name = named.name AND limit_counts.span = named.span
      ORDER BY limit_counts.name, limit_counts.span FOR UPDATE OF limit_counts;
    v_now := (extract(epoch FROM clock_timestamp()) * 1000)::bigint;
    v_until := clock_timestamp() + p_hold_ms * interval '1 millisecond';
    UPDATE limit_counts SET used = 0, began = v_now - v_now % length
      FROM unnest(v_names, v_spans) AS named(name, span), (VALUES ('minute', 60000), ('day', 86400000)) AS spans(span, length)
      WHERE limit_counts.name = named.name AND limit_counts.span = named.span AND spans.span = named.span
        AND limit_counts.began < v_now - v_now % length;
    UPDATE limit_counts SET used = greatest(0, used + settled.amount)
      FROM (
        SELECT name, span, sum(amount) AS amount FROM jsonb_to_recordset(p_settle) AS given(name text, span text, amount bigint, began bigint)
        WHERE given.began IS NULL
          OR given.began = (SELECT counted.began FROM limit_counts AS counted WHERE counted.name = given.name AND counted.span = given.span)
        GROUP BY name, span
      ) AS settled
      WHERE limit_counts.name = settled.name AND limit_counts.span = settled.span;
    DELETE FROM limit_holds WHERE holder = p_holder AND NOT p_holds ? name;
    INSERT INTO limit_holds (name, holder, held, until)
      SELECT key, p_holder, value::bigint, v_until FROM jsonb_each_text(p_holds) ORDER BY key
      ON CONFLICT (name, holder) DO UPDATE SET held = excluded.held, until = excluded.until;
    FOR v_admission IN SELECT value FROM jsonb_array_elements(p_admissions) LOOP
      v_ok := true;
      v_counts := '[]';
      FOR v_take IN SELECT * FROM jsonb_to_recordset(v_admission) AS take(name text, span text, "limit" bigint, need bigint, want bigint) LOOP
        IF v_take.span = 'held' THEN
          SELECT coalesce(sum(held), 0), 0 INTO v_used, v_began FROM limit_holds
            WHERE name = v_take.name AND (until > clock_timestamp() OR holder = p_holder);
        ELSE
          SELECT used, began INTO STRICT v_used, v_began FROM limit_counts WHERE name = v_take.name AND span = v_take.span;
        END IF;
        v_ok := v_ok AND v_take."limit" - v_used >= v_take.need;
        v_counts := v_counts || jsonb_build_object('used', v_used, 'began', v_began,
          'granted', greatest(0, least(v_take.want, v_take."limit" - v_used)),
          'moreInMs', CASE v_take.span WHEN 'minute' THEN v_began + 60000 - v_now WHEN 'day' THEN v_began + 86400000 - v_now ELSE 0 END);
      END LOOP;
      IF v_ok THEN
        FOR v_take IN SELECT take.value->>'name' AS name, take.value->>'span' AS span, (counted.value->>'granted')::bigint AS granted
          FROM jsonb_array_elements(v_admission) WITH ORDINALITY AS take
          JOIN jsonb_array_elements(v_counts) WITH ORDINALITY AS counted ON counted.ordinality = take.ordinality LOOP
          CONTINUE WHEN v_take.granted = 0;
          IF v_take.span = 'held' THEN
            INSERT INTO limit_holds (name, holder, held, until) VALUES (v_take.name, p_holder, v_take.granted, v_until)
              ON CONFLICT (name, holder) DO UPDATE SET held = limit_holds.held + excluded.held, until = excluded.until;
          ELSE
            UPDATE limit_counts SET used = used + v_take.granted WHERE name = v_take.name AND span = v_take.span;
          END IF;
        END LOOP;
      ELSE
        SELECT coalesce(jsonb_agg(value || '{"granted": 0}'), '[]') INTO v_counts FROM jsonb_array_elements(v_counts);
      END IF;
      v_result := v_result || jsonb_build_array(jsonb_build_object('isGranted', v_ok, 'counts', v_counts));
    END LOOP;
    RETURN v_result;
  END $$;
  `,
  `
  -- By a digest, because a principal may be longer than what fits into an index.
  CREATE INDEX runs_by_principal ON runs (md5(principal), started_at, id);
  `,
  `
  -- What processes note together, such as the labels of a conversation.
  CREATE TABLE shared_facts (
    name text PRIMARY KEY,
    facts jsonb NOT NULL,
    until timestamptz NOT NULL
  );
  CREATE INDEX shared_facts_by_until ON shared_facts (until);
  `,
  `
  -- Appends records to the chain, with the rows by which they are found. Returns what came of each: the digest of the record
  -- that is there under its id, and whether it was there before.
  CREATE OR REPLACE FUNCTION ptc_append(p_month bigint, p_digests bytea, p_codecs smallint[], p_sizes bigint[], p_lengths integer[], p_contents bytea, p_runs jsonb)
  RETURNS TABLE (found_digest text, was_there boolean) LANGUAGE plpgsql AS $$
  DECLARE
    v_ids bigint[];
    v_id bigint;
    v_link text;
    v_run jsonb;
    v_new jsonb[] := '{}';
  BEGIN
    -- Planning takes longer than each of the statements.
    PERFORM set_config('synchronous_commit', 'off', true), set_config('plan_cache_mode', 'force_generic_plan', true);
    v_ids := ptc_put(p_month, p_digests, p_codecs, p_sizes, p_lengths, p_contents);
    INSERT INTO tools (name, server)
      SELECT DISTINCT name, server FROM jsonb_array_elements(p_runs) AS run,
        jsonb_to_recordset(run.value->'tools') AS called(name text, server text)
      WHERE NOT EXISTS (SELECT FROM tools WHERE tools.name = called.name AND tools.server = called.server)
      ORDER BY 1, 2 ON CONFLICT DO NOTHING;
    -- From here on, nobody else appends.
    SELECT id, link INTO STRICT v_id, v_link FROM chain_ends WHERE name = 'head' FOR UPDATE;
    FOR v_run IN SELECT value FROM jsonb_array_elements(p_runs) LOOP
      SELECT record_digest INTO found_digest FROM runs WHERE run_id = v_run->>'run_id';
      was_there := FOUND;
      IF NOT was_there THEN
        found_digest := v_run->>'record_digest';
        v_id := v_id + 1;
        v_run := v_run || jsonb_build_object('month', p_month, 'id', v_id, 'previous', v_link);
        v_link := ${LINK_TO("v_link", "(v_run->>'entry')")};
        v_new := v_new || (v_run || jsonb_build_object('link', v_link));
      END IF;
      RETURN NEXT;
    END LOOP;
    INSERT INTO runs SELECT * FROM jsonb_populate_recordset(NULL::runs, to_jsonb(v_new));
    INSERT INTO run_tools (month, tool, started_at, run, replay, calls, failed_calls, duration_ms, result_bytes)
      SELECT p_month, tools.id, (run->>'started_at')::bigint, (run->>'id')::bigint, run->>'source' = 'replay', called.calls,
        called.failed_calls, called.duration_ms, called.result_bytes
      FROM unnest(v_new) AS run, jsonb_to_recordset(run->'tools') AS called(name text, server text, calls bigint,
        failed_calls bigint, duration_ms double precision, result_bytes bigint)
      JOIN tools ON tools.name = called.name AND tools.server = called.server;
    -- Two runs that store the same text at the same time can store it in two months. A run refers to the copy that is held for it.
    IF EXISTS (SELECT FROM held_blobs WHERE holder IN (SELECT run->>'run_id' FROM unnest(v_new) AS run)) THEN
      SELECT array_agg(coalesce(own.id, known.id) ORDER BY at) INTO v_ids
        FROM unnest(v_ids) WITH ORDINALITY AS known(id, at) LEFT JOIN LATERAL (
          SELECT blobs.id FROM blobs JOIN held_blobs ON blob = blobs.id
          WHERE digest = substring(p_digests FROM 32 * (known.at::integer - 1) + 1 FOR 32)
            AND holder IN (SELECT run->>'run_id' FROM unnest(v_new) AS run) LIMIT 1
        ) AS own ON true;
    END IF;
    INSERT INTO run_blobs (month, run, blob)
      SELECT DISTINCT p_month, (run->>'id')::bigint, v_ids[at.value::integer]
      FROM unnest(v_new) AS run, jsonb_array_elements_text(run->'blobs') AS at;
    DELETE FROM held_blobs WHERE holder IN (SELECT run->>'run_id' FROM unnest(v_new) AS run);
    UPDATE chain_ends SET id = v_id, link = v_link WHERE name = 'head';
  END $$;
  `,
  `
  -- What is listed of a question, apart from the question, and the size of the question. Earlier rows have none.
  ALTER TABLE pending ADD COLUMN listing bytea, ADD COLUMN bytes bigint NOT NULL DEFAULT 0;
  `,
];

const Version = z.object({ version: z.int() });
const Found = z.object({ found: z.boolean() });
const Schema = z.object({ wanted: z.nullable(z.string()), current: z.nullable(z.string()) });

/**
 * A statement that says whether there is a table, as the catalog has it. `to_regclass` goes by what the connection remembers, which may
 * be that there is none, also after the connection has waited for the lock of who makes it.
 */
function isThere(table: string): string {
  return `SELECT EXISTS (SELECT FROM pg_class WHERE relname = '${table}' AND pg_table_is_visible(oid)) AS found`;
}

/** The version of the schema, or 0 if ptc has no tables there. @throws ArchiveError `newer`. */
export async function schemaVersion(db: Statements, migrations = MIGRATIONS): Promise<number> {
  const table = isThere("ptc_schema");
  if ((await db.get(Found, table))?.found !== true) return 0;
  const version = (await db.get(Version, "SELECT version FROM ptc_schema"))?.version ?? 0;
  if (version <= migrations.length) return version;
  const message = `${db.place} has version ${version}, and this ptc supports at most ${migrations.length}: update ptc`;
  throw new ArchiveError("newer", message);
}

/**
 * Migrates the tables to the version of this ptc, in one transaction. If several processes do so at once, one migrates and the
 * others wait. Returns the version from before.
 *
 * @throws ArchiveError `newer`, or `foreign` if other tables have the same names. Changes nothing in either case.
 */
export async function migrate(db: PgDatabase, migrations = MIGRATIONS): Promise<number> {
  const before = await schemaVersion(db, migrations);
  if (before === migrations.length) return before;
  return db.transaction(async (tx) => {
    await tx.exec("SELECT pg_advisory_xact_lock(hashtext('ptc migrations'), 1)");
    await makeSchema(tx);
    // Checked again under the lock, because another process may have migrated it.
    const version = await schemaVersion(tx, migrations);
    if (version === 0)
      await tx.exec(
        "CREATE TABLE ptc_schema (is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only), version integer NOT NULL); INSERT INTO ptc_schema VALUES (true, 0)",
      );
    for (const migration of migrations.slice(version)) {
      try {
        await tx.exec(migration);
      } catch (error) {
        if (version > 0 || sqlStateOf(error) !== "42P07") throw error;
        const message = `${db.place} has tables of another program, and ptc left them alone: give ptc a separate database or schema`;
        throw new ArchiveError("foreign", message, error);
      }
    }
    await tx.run("UPDATE ptc_schema SET version = $1", migrations.length);
    return version;
  });
}

/** Creates the schema that the connection names (`search_path`) if it does not exist. */
async function makeSchema(tx: Statements): Promise<void> {
  const row = await tx.get(
    Schema,
    "SELECT current_schema()::text AS current, split_part(current_setting('search_path'), ',', 1) AS wanted",
  );
  const name = row?.wanted?.trim().replaceAll(/^"|"$/g, "") ?? "";
  if (row?.current === null && name !== "" && name !== "$user")
    await tx.exec(`CREATE SCHEMA IF NOT EXISTS "${name.replaceAll('"', '""')}"`);
}

/** The first millisecond of a time's month, in UTC. Partitions are named by it. */
export function monthOf(ms: number): number {
  const date = new Date(Math.min(Math.max(ms, 0), LAST_INSTANT_MS));
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
}

/** The first millisecond of the next month. */
export function monthAfter(month: number): number {
  const date = new Date(month);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
}

/** The name of a partition, such as `runs_2026_11`. */
export function partitionOf(table: (typeof MONTHLY)[number], month: number): string {
  const [year = "", number = ""] = new Date(month).toISOString().split("-");
  return `${table}_${year}_${number}`;
}

/** Limits the wait for readers of a table, such as a verification. Processes that append wait just as long. */
export const WAIT_FOR_READERS = "SET LOCAL lock_timeout = '5s'";

/**
 * Creates the missing partitions of a month. Attaches them, which does not wait for readers and writers of other partitions.
 * Must not be called within another transaction.
 */
export async function makeMonth(db: PgDatabase, month: number): Promise<void> {
  const table = isThere(partitionOf("blobs", month));
  if ((await db.get(Found, table))?.found === true) return;
  await db.transaction(async (tx) => {
    await tx.exec(`${WAIT_FOR_READERS}; SELECT ${LOCK_VALUES}`);
    // Checked again under the lock, because another process may have created it.
    if ((await tx.get(Found, table))?.found === true) return;
    for (const each of MONTHLY) {
      const partition = partitionOf(each, month);
      await tx.exec(`CREATE TABLE ${partition} (LIKE ${each} INCLUDING ALL);
        ALTER TABLE ${each} ATTACH PARTITION ${partition} FOR VALUES IN (${month})`);
    }
  });
}
