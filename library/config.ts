/** The keys of `ptc.yaml`, as types. Made from configuration/settings: `node scripts/docs.ts`. */

/** A configuration as an object: the keys of a `ptc.yaml`. */
export interface PtcConfig {
  /**
   * the MCP servers whose tools programs can call
   */
  servers?:
    | {
        /**
         * the server's name. Code uses it in snake_case, where each must be unique
         */
        name: string;
        /**
         * what the server is for; models read this
         */
        description?: string;
        /**
         * how ptc talks to it: by default `stdio` with `command`, and `http` (Streamable HTTP) with `url`
         */
        transport?: "stdio" | "http" | "sse";
        /**
         * the program to start; never a shell
         */
        command?: string;
        /**
         * its arguments
         */
        args?: (string | number | boolean)[];
        /**
         * environment variables, added to a minimal set. A value is text, in which variables are expanded, or names its source
         */
        env?: {
          [k: string]: string | { [key: string]: unknown };
        };
        /**
         * its working folder, relative to the folder of ptc.yaml
         */
        cwd?: string;
        /**
         * runs it in a sandbox of its own, as programs are: `true`, or what it reaches from there ([servers](servers.md#a-server-in-a-sandbox)); `false` never does. By default as `sandbox.servers` says
         */
        sandbox?:
          | ({
              /**
               * the hosts that the server reaches, such as `[api.github.com, "*.example.com", "db.internal:5432"]`; by default none. `localhost:PORT` is a port of this machine
               */
              network?: (
                | {
                    /**
                     * a name, with `*.` in front for the names below it, and with a port where that is not 443 or 80
                     */
                    host: string;
                    /**
                     * whether the name may resolve to a private address; by default only names that no public network has may, such as `db.internal`
                     */
                    private?: boolean;
                  }
                | string
              )[];
              /**
               * the files of this machine that the server sees; by default none
               */
              files?: {
                /**
                 * a file or folder, relative to the folder of ptc.yaml
                 */
                path: string;
                /**
                 * whether the server may change it; by default it only reads
                 */
                write?: boolean;
              }[];
              /**
               * the server's memory, with all that it starts; by default 512
               */
              memory_mb?: number;
            } | null)
          | boolean;
        /**
         * the server's URL, for HTTP
         */
        url?: string;
        /**
         * headers sent with each request; values as for `env`. Under the name `*`, a source gives all headers as one JSON object; a command there runs once per connection
         */
        headers?: {
          [k: string]: string | { [key: string]: unknown };
        };
        /**
         * folders that ptc tells the server about as its roots
         */
        roots?: string[];
        /**
         * a description of an HTTP API, whose operations are the tools: a file or a URL, OpenAPI 3 or Swagger 2.0
         */
        openapi?: string;
        /**
         * the base URL of the API of `openapi`; by default the one in its description
         */
        base_url?: string;
        /**
         * the secrets of the API of `openapi`, by the names of its `securitySchemes`: a key, a token, or `USER:PASSWORD` for HTTP basic; values as for `env`
         */
        credentials?: {
          [k: string]: string | { [key: string]: unknown };
        };
        /**
         * the certificate that ptc shows to the API of `openapi` (mutual TLS)
         */
        client_certificate?: {
          /**
           * the certificate chain in PEM; values as for `env`, such as `{ file: client.pem }`
           */
          cert: string | { [key: string]: unknown };
          /**
           * the private key in PEM, without a passphrase
           */
          key: string | { [key: string]: unknown };
        };
        /**
         * the operations of `openapi` that become tools; by default all. Each is a name, or `{ tag, path, operation, method }`; `*` is a wildcard
         */
        include?: (
          | {
              /**
               * a tag of the operation
               */
              tag?: string;
              /**
               * the operation's path, as the description writes it
               */
              path?: string;
              /**
               * the `operationId`, or the tool's name
               */
              operation?: string;
              /**
               * the operation's HTTP method
               */
              method?: "get" | "put" | "post" | "delete" | "options" | "head" | "patch";
            }
          | string
        )[];
        /**
         * the operations of `openapi` that do not become tools
         */
        exclude?: (
          | {
              /**
               * a tag of the operation
               */
              tag?: string;
              /**
               * the operation's path, as the description writes it
               */
              path?: string;
              /**
               * the `operationId`, or the tool's name
               */
              operation?: string;
              /**
               * the operation's HTTP method
               */
              method?: "get" | "put" | "post" | "delete" | "options" | "head" | "patch";
            }
          | string
        )[];
        /**
         * how ptc logs in to the server; `none` turns logging in off
         */
        auth?:
          | {
              /**
               * `oauth`: a person logs in; `client_credentials`: a machine does; `none`: nobody does. Optional with `token_exchange` or `identity_assertion`; then it is used when the caller has no token
               */
              type?: "oauth" | "client_credentials" | "none";
              /**
               * calls act as the person who calls ptc over HTTP: ptc exchanges that person's token for one that this server accepts (RFC 8693)
               */
              token_exchange?: {
                /**
                 * the authorization server that exchanges tokens; ptc sends the caller's token nowhere else
                 */
                issuer: string;
                /**
                 * ptc's client ID at that issuer
                 */
                client_id: string;
                /**
                 * the client's secret; a value as for `env`
                 */
                client_secret?: string | { [key: string]: unknown };
                /**
                 * how the secret is sent
                 */
                token_endpoint_auth_method?: "client_secret_basic" | "client_secret_post";
                /**
                 * the audience of the new token, in addition to the server's URL as `resource`
                 */
                audience?: string;
                /**
                 * whether the server's URL is sent as `resource` (RFC 8707)
                 */
                resource?: boolean;
                /**
                 * whether ptc also sends its own token (`client_credentials`), so that `act` in the new token names ptc as the actor
                 */
                actor?: boolean;
              };
              /**
               * the same across organisations: ptc exchanges the caller's token for an identity assertion (ID-JAG), which the server's own authorization server accepts for a token (RFC 7523); `auth.client_id` and `auth.client_secret` are ptc's client there
               */
              identity_assertion?: {
                /**
                 * the authorization server that exchanges tokens; ptc sends the caller's token nowhere else
                 */
                issuer: string;
                /**
                 * ptc's client ID at that issuer
                 */
                client_id: string;
                /**
                 * the client's secret; a value as for `env`
                 */
                client_secret?: string | { [key: string]: unknown };
                /**
                 * how the secret is sent
                 */
                token_endpoint_auth_method?: "client_secret_basic" | "client_secret_post";
              };
              /**
               * the ID of a client that is already registered
               */
              client_id?: string;
              /**
               * the client's secret; a value as for `env`. Requires `issuer`; ptc sends it nowhere else
               */
              client_secret?: string | { [key: string]: unknown };
              /**
               * the scopes to request instead of those that the server asks for
               */
              scopes?: string | string[];
              /**
               * the only authorization server that ptc asks for tokens
               */
              issuer?: string;
              /**
               * the URL of a client's metadata document
               */
              client_metadata_url?: string;
              /**
               * the host of the redirect URI
               */
              callback_host?: "127.0.0.1" | "localhost";
              /**
               * the port of the redirect URI; by default a free one
               */
              callback_port?: number;
              /**
               * the key that signs instead of a secret: PKCS#8 PEM or a JWK (RFC 7523)
               */
              private_key?: string | { [key: string]: unknown };
              /**
               * the algorithm that signs
               */
              signing_algorithm?:
                | "RS256"
                | "RS384"
                | "RS512"
                | "PS256"
                | "PS384"
                | "PS512"
                | "ES256"
                | "ES384"
                | "ES512";
              /**
               * how the secret is sent
               */
              token_endpoint_auth_method?: "client_secret_basic" | "client_secret_post";
            }
          | ("oauth" | "client_credentials" | "none");
        /**
         * accounts by name, each with its own credentials; the server's tools then take the argument `account` ([docs](servers.md#several-accounts))
         */
        accounts?: {
          [k: string]: {
            /**
             * variables of this account, added to the server's; values as for `env`
             */
            env?: {
              [k: string]: string | { [key: string]: unknown };
            };
            /**
             * headers of this account, added to the server's; values as for `env`
             */
            headers?: {
              [k: string]: string | { [key: string]: unknown };
            };
          };
        };
        /**
         * the labels of its results; `{ label: L, unless: { ARGUMENT: PATTERN } }` (or `when`) limits a label to some arguments
         */
        labels?: (
          | string
          | {
              label: string;
              unless?: {
                [k: string]: string;
              };
              when?: {
                [k: string]: string;
              };
            }
        )[];
        /**
         * the labels of single fields of its results: maps paths such as `messages[].body` to labels; `*` is every other field (by default `labels`)
         */
        results?: {
          [k: string]: string[];
        };
        /**
         * the labels that may flow into its arguments; by default all. Or a mapping from arguments (`*`: all others; `()`: whether the call is made) to labels or to `{ labels, lists, named, said }`
         */
        accepts?:
          | string[]
          | {
              [k: string]:
                | string[]
                | {
                    labels?: string[] | null;
                    lists?: string[] | null;
                    named?: string[] | null;
                    said?:
                      | "host"
                      | {
                          host: string[];
                        };
                  };
            };
        /**
         * exceptions from `pii.redact`
         */
        pii?: {
          /**
           * kinds that ptc leaves as they are in a run, if every server that the run reads from allows them
           */
          allow?: ("email" | "phone" | "card" | "iban" | "national_id" | "ip")[] | null;
        } | null;
        /**
         * exceptions for single tools
         */
        tools?: {
          [k: string]: {
            /**
             * the labels of the tool's results, instead of its server's
             */
            labels?: (
              | string
              | {
                  label: string;
                  unless?: {
                    [k: string]: string;
                  };
                  when?: {
                    [k: string]: string;
                  };
                }
            )[];
            /**
             * the labels of single fields of its results: maps paths such as `messages[].body` to labels; `*` is every other field (by default `labels`)
             */
            results?: {
              [k: string]: string[];
            };
            /**
             * the labels that may flow into the tool, instead of its server's
             */
            accepts?:
              | string[]
              | {
                  [k: string]:
                    | string[]
                    | {
                        labels?: string[] | null;
                        lists?: string[] | null;
                        named?: string[] | null;
                        said?:
                          | "host"
                          | {
                              host: string[];
                            };
                      };
                };
          };
        };
        /**
         * whether clients get the views of its tools (MCP Apps) where `discovery` is `direct`; `allow` by default
         */
        apps?: "allow" | "off";
        /**
         * whether it may request answers of the client's model during a call; a person is asked about each ([docs](clients.md#answers-of-the-clients-model)); `off` by default
         */
        sampling?: "allow" | "off";
        /**
         * whether all principals share one connection to it, and on stdio one process. By default each principal has its own; share only servers that hold no personal data
         */
        shared?: boolean;
        /**
         * connections to it at a time, one for each principal; by default 64 where it is a process, else 1000. Beyond that, the connection unused the longest is closed
         */
        max_connections?: number;
        /**
         * concurrent calls, of all principals together; by default 100. Further calls wait, and principals take turns
         */
        max_parallel_calls?: number;
        /**
         * calls that may wait; by default 1000. Further calls fail at once
         */
        max_queued_calls?: number;
        /**
         * the time limit of a call, instead of `execution.tool_call_timeout_seconds`
         */
        call_timeout_seconds?: number;
        /**
         * the time limit for starting or reaching it, and for each page of its tools. On stdio, only time without progress counts, up to five minutes in all
         */
        connect_timeout_seconds?: number;
      }[]
    | null;
  tools?: {
    /**
     * patterns of the tools that programs may call; all others are blocked. Cannot be combined with `block`
     */
    allow?: string[];
    /**
     * patterns of tools that programs may not call
     */
    block?: string[] | null;
    /**
     * commands that programs call as tools of a server named `local`
     */
    local?:
      | {
          /**
           * the tool's name
           */
          name: string;
          /**
           * the title, for people
           */
          title?: string;
          /**
           * the description, for models and people
           */
          description?: string;
          /**
           * a program and its arguments, each a separate element; `{name}` in one is an argument's value. Never a shell
           */
          command: (string | number | boolean)[];
          /**
           * what the command reads; by default all arguments as one JSON object
           */
          stdin?: string;
          /**
           * JSON Schema of the arguments
           */
          inputSchema: string | { [key: string]: unknown };
          /**
           * `text`: what it prints; `json`: the value that it prints
           */
          output?: "text" | "json";
          /**
           * exit codes that mean no failure
           */
          exit_codes?: number[];
          /**
           * with `output: json`, JSON Schema of that value
           */
          outputSchema?: string | { [key: string]: unknown };
          annotations?: {
            /**
             * MCP's annotation: it changes nothing
             */
            readOnlyHint?: boolean;
            /**
             * MCP's annotation: it may destroy data, and needs approval
             */
            destructiveHint?: boolean;
            /**
             * MCP's annotation: calling it again changes nothing more
             */
            idempotentHint?: boolean;
            /**
             * MCP's annotation: it reaches beyond this machine
             */
            openWorldHint?: boolean;
          };
          /**
           * the time limit of a call; by default `execution.tool_call_timeout_seconds`
           */
          timeout_seconds?: number;
          /**
           * the most that it may print
           */
          max_output_bytes?: number;
          /**
           * its working folder, relative to the folder of ptc.yaml
           */
          cwd?: string;
          /**
           * environment variables; values as for `servers[].env`
           */
          env?: {
            [k: string]: string | { [key: string]: unknown };
          };
          /**
           * the labels of its results; `{ label: L, unless: { ARGUMENT: PATTERN } }` (or `when`) limits a label to some arguments
           */
          labels?: (
            | string
            | {
                label: string;
                unless?: {
                  [k: string]: string;
                };
                when?: {
                  [k: string]: string;
                };
              }
          )[];
          /**
           * the labels of single fields of its results: maps paths such as `messages[].body` to labels; `*` is every other field (by default `labels`)
           */
          results?: {
            [k: string]: string[];
          };
          /**
           * the labels that may flow into its arguments; by default all. Or a mapping from arguments (`*`: all others; `()`: whether the call is made) to labels or to `{ labels, lists, named, said }`
           */
          accepts?:
            | string[]
            | {
                [k: string]:
                  | string[]
                  | {
                      labels?: string[] | null;
                      lists?: string[] | null;
                      named?: string[] | null;
                      said?:
                        | "host"
                        | {
                            host: string[];
                          };
                    };
              };
        }[]
      | null;
  } | null;
  approvals?: {
    /**
     * which tools need approval by default: `annotated`: those annotated as destructive; `destructive`: also those that say neither that nor that they only read
     */
    default?: "annotated" | "destructive";
    /**
     * patterns of further tools that need approval
     */
    ask?: string[] | null;
    /**
     * patterns of tools that never need approval
     */
    allow?: string[] | null;
    /**
     * an interceptor that may answer in place of a person: [docs](policy.md#a-reviewer)
     */
    reviewer?: {
      /**
       * the name of an interceptor that has `question` in its `on`
       */
      by: string;
      /**
       * patterns of the tools that it may answer for; a tool that may be destructive must be named without `*`
       */
      tools: string[];
    };
    /**
     * `plan`: when a program reaches a call that needs approval, it is rehearsed, and a person is asked once about everything that it will change; `call`: about each call by itself
     */
    mode?: "call" | "plan";
    /**
     * with `terminal`, an approval counts only when it is typed at a terminal: not by `--approve`, a client's form or `ptc approvals approve` in a script; with `passkey`, only when a person gives it with their passkey in the console
     */
    require?: "any" | "terminal" | "passkey";
    /**
     * whether a run is suspended when the client stops waiting for an answer; otherwise the call is denied
     */
    suspend?: boolean;
    /**
     * how long a suspended run is kept
     */
    expire_minutes?: number;
  } | null;
  /**
   * rules in Cedar; a list of files is short for `files`
   */
  policy?:
    | {
        /**
         * files of rules. If there are any, whatever no rule permits is denied
         */
        files?: string[] | null;
        /**
         * groups and their members, for rules
         */
        groups?: {
          [k: string]: string[];
        };
      }
    | (string[] | null);
  labels?: {
    /**
     * `conversation`: once a model has seen labelled data, what it writes carries the labels too; `run`: it does not
     */
    scope?: "conversation" | "run";
    /**
     * what happens to a call with a value whose labels its argument does not accept: `deny` denies it, `ask` asks a person
     */
    refused?: "deny" | "ask";
    /**
     * `careful`: a person is asked about each change that labelled data may have influenced
     */
    preset?: "none" | "careful";
    /**
     * names of `lists`: values that match, such as ids, give a model no labels when it sees them
     */
    plain?: string[] | null;
  } | null;
  /**
   * named lists of patterns for `accepts`, `labels.plain` and rules; `*` matches anything but spaces and separators. `{ file: PATH }` reads one pattern per line
   */
  lists?: {
    [k: string]:
      | string[]
      | {
          file: string;
        };
  };
  /**
   * the languages of programs; the first is the default, and the language of signatures
   */
  languages?: ("typescript" | "python")[];
  execution?: {
    /**
     * the time limit of a program, as wall-clock time
     */
    timeout_seconds?: number;
    /**
     * the most that a run returns: console text and envelope
     */
    max_output_bytes?: number;
    /**
     * the most of console text and result that a reply of `ptc serve` shows a model, which reads the rest with `read_output`. Never more than `max_output_bytes`
     */
    max_reply_bytes?: number;
    /**
     * the most that a program may write with `console.error` and to stderr
     */
    max_stderr_bytes?: number;
    /**
     * the time limit of a call. Starting the server counts, waiting for a person does not. Each progress report restarts it, up to ten times
     */
    tool_call_timeout_seconds?: number;
    /**
     * concurrent calls of a program; further calls wait
     */
    max_parallel_calls?: number;
    /**
     * of one program
     */
    max_tool_calls?: number;
    /**
     * concurrent programs; by default two per core if the memory is enough
     */
    max_parallel_programs?: number;
    /**
     * programs of one principal that may wait, in order of arrival; further ones fail with `Busy`. Principals take turns
     */
    max_queued_programs?: number;
    /**
     * of one program
     */
    memory_mb?: number;
    /**
     * of one program
     */
    cpus?: number;
    /**
     * processes of a program, not counting gVisor's own
     */
    pids?: number;
    /**
     * what a type error does: `error`: the program does not run; `warn`: it runs, and the reply names the error; `off`: nothing is checked
     */
    typecheck?: "error" | "warn" | "off";
    /**
     * what happens when an answer does not match its tool's output schema: `warn`: the program gets the answer, the run a warning; `error`: the call fails with an error that contains the answer
     */
    schema_mismatch?: "warn" | "error";
  } | null;
  limits?: {
    /**
     * all principals together
     */
    together?: {
      /**
       * concurrent programs; further ones wait
       */
      max_parallel_programs?: number;
      /**
       * programs started within a clock minute; further ones fail with `Busy`, which says when to try again
       */
      max_programs_per_minute?: number;
      /**
       * calls within a clock minute; further ones fail, saying when to try again
       */
      max_calls_per_minute?: number;
      /**
       * processor time of programs per UTC day: each program's running time times `execution.cpus`, counted when it ends; waiting for tools counts, waiting for people does not
       */
      max_cpu_seconds_per_day?: number;
      /**
       * bytes of tools' answers per UTC day
       */
      max_result_bytes_per_day?: number;
    } | null;
    /**
     * each principal
     */
    each?: {
      /**
       * concurrent programs; further ones wait
       */
      max_parallel_programs?: number;
      /**
       * programs started within a clock minute; further ones fail with `Busy`, which says when to try again
       */
      max_programs_per_minute?: number;
      /**
       * calls within a clock minute; further ones fail, saying when to try again
       */
      max_calls_per_minute?: number;
      /**
       * processor time of programs per UTC day: each program's running time times `execution.cpus`, counted when it ends; waiting for tools counts, waiting for people does not
       */
      max_cpu_seconds_per_day?: number;
      /**
       * bytes of tools' answers per UTC day
       */
      max_result_bytes_per_day?: number;
    } | null;
    /**
     * groups of `policy.groups` and of logins: `together` limits all members of a group together, `each` replaces `limits.each` for every member; with several groups, the most generous applies
     */
    groups?: {
      [k: string]: {
        together?: {
          /**
           * concurrent programs; further ones wait
           */
          max_parallel_programs?: number;
          /**
           * programs started within a clock minute; further ones fail with `Busy`, which says when to try again
           */
          max_programs_per_minute?: number;
          /**
           * calls within a clock minute; further ones fail, saying when to try again
           */
          max_calls_per_minute?: number;
          /**
           * processor time of programs per UTC day: each program's running time times `execution.cpus`, counted when it ends; waiting for tools counts, waiting for people does not
           */
          max_cpu_seconds_per_day?: number;
          /**
           * bytes of tools' answers per UTC day
           */
          max_result_bytes_per_day?: number;
        } | null;
        each?: {
          /**
           * concurrent programs; further ones wait
           */
          max_parallel_programs?: number;
          /**
           * programs started within a clock minute; further ones fail with `Busy`, which says when to try again
           */
          max_programs_per_minute?: number;
          /**
           * calls within a clock minute; further ones fail, saying when to try again
           */
          max_calls_per_minute?: number;
          /**
           * processor time of programs per UTC day: each program's running time times `execution.cpus`, counted when it ends; waiting for tools counts, waiting for people does not
           */
          max_cpu_seconds_per_day?: number;
          /**
           * bytes of tools' answers per UTC day
           */
          max_result_bytes_per_day?: number;
        } | null;
      } | null;
    };
    /**
     * single principals, instead of `each`
     */
    principals?: {
      [k: string]: {
        /**
         * concurrent programs; further ones wait
         */
        max_parallel_programs?: number;
        /**
         * programs started within a clock minute; further ones fail with `Busy`, which says when to try again
         */
        max_programs_per_minute?: number;
        /**
         * calls within a clock minute; further ones fail, saying when to try again
         */
        max_calls_per_minute?: number;
        /**
         * processor time of programs per UTC day: each program's running time times `execution.cpus`, counted when it ends; waiting for tools counts, waiting for people does not
         */
        max_cpu_seconds_per_day?: number;
        /**
         * bytes of tools' answers per UTC day
         */
        max_result_bytes_per_day?: number;
      } | null;
    };
  } | null;
  sessions?:
    | {
        /**
         * concurrent sessions; without `sessions` there are none
         */
        max?: number;
        /**
         * a session ends after this time without a program
         */
        idle_minutes?: number;
      }
    | (true | "off" | false);
  sandbox?: {
    /**
     * what runs sandboxes: `docker`, gVisor's `runsc` alone, a `kubernetes` cluster, `wasm` (an interpreter in a process, a [weaker wall](engines.md#an-interpreter-in-webassembly)), or `auto`, which picks Docker, then runsc, and never a cluster or `wasm`; by default the variable `PTC_ENGINE`, else `auto`
     */
    engine?: "auto" | "docker" | "runsc" | "kubernetes" | "wasm";
    /**
     * the container runtime; any but runsc requires `allow_weaker_isolation`
     */
    runtime?: string;
    /**
     * the image that programs run in; `ptc-runner` stands for the one that ptc builds for this project, any other name is used as is
     */
    image?: string;
    /**
     * the fewest sandboxes that are kept started while programs come; before the first, one is, once a client is there; when neither has come for three minutes they end; none but one, after half a minute, is replaced while all processors are used; 0 turns the pool off
     */
    warm?: number;
    /**
     * the most that are kept while programs arrive often; by default four for each core if the memory is enough
     */
    max_warm?: number;
    /**
     * how programs reach ptc; `auto`: by a socket if the engine can mount one, by a connection to the pod if there are certificates, else by the container's stdin and stdout
     */
    channel?: "auto" | "socket" | "attached";
    /**
     * whether MCP servers that are commands run in sandboxes too: `required` for all; `wanted` for all, but as processes of this machine where no engine is; `off` only for those whose own `sandbox` says so
     */
    servers?: "required" | "wanted" | "off";
    /**
     * Debian packages for programs in Python; `ptc image build` adds them to the image
     */
    python_packages?: string[] | null;
    /**
     * the cluster that `engine: kubernetes` uses
     */
    kubernetes?: {
      /**
       * where pods are claimed; by default the namespace of the context, or of ptc's own pod
       */
      namespace?: string;
      /**
       * the prefix of the SandboxWarmPools' names; `-javascript` or `-python` follows
       */
      template?: string;
      /**
       * the kubeconfig's context; by default the current one
       */
      context?: string;
      /**
       * the kubeconfig file; by default that of the variable KUBECONFIG, `~/.kube/config`, or in a pod its service account
       */
      kubeconfig?: string;
      /**
       * a folder with `ca.crt`, `tls.crt` and `tls.key` for connections to pods; without it, programs reach ptc through the API server
       */
      certificates?: string;
      /**
       * how long a program waits for a pod
       */
      ready_timeout_seconds?: number;
    } | null;
    /**
     * what programs may do with `engine: wasm`
     */
    wasm?: {
      /**
       * `read_only`: a person approves calls of tools that are not annotated as reading only, as if `approvals.ask` named them; `all`: as with any other engine
       */
      tools?: "read_only" | "all";
    } | null;
    /**
     * allows a `runtime` other than runsc
     */
    allow_weaker_isolation?: boolean;
  } | null;
  /**
   * the background host; with `off`, every command runs alone
   */
  host?:
    | {
        /**
         * the same as `host: off`
         */
        off?: true;
        /**
         * the background host ends after this time without a command
         */
        idle_seconds?: number;
      }
    | (("off" | false) | null);
  search?: {
    embedding?: {
      /**
       * the base URL of an OpenAI-compatible API whose embeddings also find tools by meaning, such as `http://127.0.0.1:11434/v1`
       */
      url: string;
      /**
       * the model's name
       */
      model: string;
      /**
       * the key of the API; a value as for `servers[].env`
       */
      key?: string | { [key: string]: unknown };
      /**
       * how long a search waits for an answer
       */
      timeout_seconds?: number;
    };
    rerank?: {
      /**
       * the base URL of an OpenAI-compatible API whose model chooses from the best 30 tools
       */
      url: string;
      /**
       * the model's name
       */
      model: string;
      /**
       * the key of the API; a value as for `servers[].env`
       */
      key?: string | { [key: string]: unknown };
      /**
       * how long a search waits for an answer
       */
      timeout_seconds?: number;
    };
  } | null;
  extract?: {
    /**
     * the base URL of the model's API, such as `https://host/v1`
     */
    url: string;
    /**
     * the model's name
     */
    model: string;
    /**
     * the key of the API; a value as for `servers[].env`
     */
    key?: string | { [key: string]: unknown };
    /**
     * the kind of API; by default the URL decides
     */
    api?: "openai" | "anthropic";
    /**
     * of one program
     */
    max_calls?: number;
    /**
     * of one call
     */
    max_input_bytes?: number;
    /**
     * of one call
     */
    timeout_seconds?: number;
    /**
     * the labels of its results; `{ label: L, unless: { ARGUMENT: PATTERN } }` (or `when`) limits a label to some arguments
     */
    labels?: (
      | string
      | {
          label: string;
          unless?: {
            [k: string]: string;
          };
          when?: {
            [k: string]: string;
          };
        }
    )[];
    /**
     * the labels of single fields of its results: maps paths such as `messages[].body` to labels; `*` is every other field (by default `labels`)
     */
    results?: {
      [k: string]: string[];
    };
    /**
     * the labels that may flow into its arguments; by default all. Or a mapping from arguments (`*`: all others; `()`: whether the call is made) to labels or to `{ labels, lists, named, said }`
     */
    accepts?:
      | string[]
      | {
          [k: string]:
            | string[]
            | {
                labels?: string[] | null;
                lists?: string[] | null;
                named?: string[] | null;
                said?:
                  | "host"
                  | {
                      host: string[];
                    };
              };
        };
    /**
     * exceptions from `pii.redact`
     */
    pii?: {
      /**
       * kinds that the model sees unredacted; others are replaced by marks
       */
      allow?: ("email" | "phone" | "card" | "iban" | "national_id" | "ip")[] | null;
    } | null;
  };
  pii?:
    | {
        /**
         * kinds of personal data that ptc redacts in whatever leaves a run; `pii: [...]` is short for it
         */
        redact?: ("email" | "phone" | "card" | "iban" | "national_id" | "ip")[] | null;
        /**
         * ISO 3166-1 codes of the countries whose phone numbers ptc recognises without a `+`, and whose national ids it looks for
         */
        countries?: string[] | null;
      }
    | (string[] | null);
  /**
   * which tools `ptc serve` lists besides its own: `auto`: all, if they cost less than 2 % of a context of 200,000 tokens and no decision about a call depends on what its run has read; `direct`: all, and clients also get everything else that servers offer ([docs](clients.md#all-that-servers-offer)); `search`: none
   */
  discovery?: "auto" | "search" | "direct";
  direct?:
    | {
        /**
         * servers and tools that are always listed: a server's name, `<server>.<tool>`, or a pattern of `mcp__<server>__<tool>`; `direct: [...]` is short for it
         */
        tools?: string[] | null;
        /**
         * what counts as one run for rules: all direct calls of a `conversation`, or each `call` by itself ([docs](clients.md#a-conversation-is-a-run))
         */
        runs?: "conversation" | "call";
      }
    | (string[] | null);
  /**
   * external checks of calls and results ([docs](policy.md#checks-of-others))
   */
  interceptors?:
    | {
        /**
         * what the audit log calls it: `interceptors.NAME`
         */
        name: string;
        /**
         * what it checks: a `call` before it is made, a `result` before anybody gets it, or, for the [reviewer](policy.md#a-reviewer), a `question` before a person is asked
         */
        on?: ("call" | "result" | "question")[];
        /**
         * patterns of the tools whose calls it checks; by default all
         */
        tools?: string[] | null;
        /**
         * the URL that receives each check as a POST of JSON; https, or http on this machine; a value as for `servers[].env`
         */
        url?: string | { [key: string]: unknown };
        /**
         * the key that signs requests (Standard Webhooks): `whsec_` and 24 to 64 bytes in base64; a value as for `servers[].env`
         */
        secret?: string | { [key: string]: unknown };
        /**
         * a command instead of `url`, which reads the request from stdin and prints its answer, in the folder of ptc.yaml
         */
        command?: string[];
        /**
         * how long an answer may take
         */
        timeout_seconds?: number;
        /**
         * what happens without a usable answer: `closed`: the call is refused, or its result withheld; `open`: it goes on, and the audit log says so
         */
        fail?: "closed" | "open";
      }[]
    | null;
  /**
   * named sets of tools, written as in `direct.tools`, each served by an endpoint of its own: `/mcp/NAME` over HTTP, `ptc serve --toolset NAME` over stdio; a token of `ptc token create --toolset NAME` is narrowed to it at every address ([docs](clients.md#narrow-endpoints))
   */
  toolsets?: {
    [k: string]: string[];
  };
  /**
   * where `ptc add NAMESPACE/NAME` finds servers: the URL of an MCP registry, or a file that mirrors one ([docs](servers.md#servers-of-a-registry))
   */
  registry?: string;
  /**
   * whether ptc learns the types of results that tools do not declare, and uses them ([learned types](learned-types.md))
   */
  learn?: boolean | ("on" | "off");
  /**
   * the audit log; `strict` is short for `strict: true`
   */
  audit?:
    | {
        /**
         * whether a call that may change something is sent only once its audit line is on disk
         */
        strict?: boolean;
        /**
         * the size at which ptc starts a new file
         */
        max_file_mb?: number;
        /**
         * how long files are kept after their last line
         */
        keep_days?: number;
        /**
         * where a copy is sent as RFC 5424: `udp://HOST:PORT`, `tcp://HOST:PORT` or `unix:///PATH`
         */
        syslog?: string;
        /**
         * where a copy is sent as OTLP log records
         */
        otlp?: string;
      }
    | ("strict" | null);
  archive?: {
    /**
     * the file that keeps runs, relative to the folder of ptc.yaml
     */
    path?: string;
    /**
     * how long runs are kept
     */
    keep_days?: number;
  } | null;
  http?: {
    /**
     * where `ptc serve --http` listens, as HOST:PORT; by default 127.0.0.1:8080. Beyond this machine only with `auth`
     */
    listen?: string;
    /**
     * the URL that clients use, and the audience of tokens; MCP is served at its path
     */
    public_url?: string;
    tls?: {
      /**
       * a file with the certificate chain in PEM; read again when it changes
       */
      cert: string;
      /**
       * a file with its private key, in PEM
       */
      key: string;
    };
    /**
     * addresses and networks of the proxies whose `X-Forwarded-*` headers ptc trusts
     */
    trusted_proxies?: string[] | null;
    /**
     * how long running programs may continue after SIGTERM
     */
    drain_seconds?: number;
    auth?: {
      /**
       * the OAuth issuers whose tokens are accepted
       */
      issuers?: {
        /**
         * the issuer, exactly as its tokens name it in `iss`
         */
        issuer: string;
        /**
         * the accepted audiences (`aud`) of its tokens; by default `http.public_url`
         */
        audience?: string | string[];
        /**
         * the accepted algorithms of its tokens' signatures
         */
        algorithms?: (
          | "RS256"
          | "RS384"
          | "RS512"
          | "PS256"
          | "PS384"
          | "PS512"
          | "ES256"
          | "ES384"
          | "ES512"
          | "EdDSA"
        )[];
        /**
         * how far the issuer's clock may differ from this machine's
         */
        clock_skew_seconds?: number;
        /**
         * the URL of its keys; by default that in its metadata
         */
        jwks_url?: string;
        /**
         * the claim that identifies a person and never changes
         */
        subject?: string;
        /**
         * the claim with the person's name; by default `name`, `preferred_username` or `email`
         */
        name?: string;
        /**
         * the claim with the person's groups; a dot selects a member of an object
         */
        groups?: string;
        scopes?: {
          /**
           * a token has this scope if one of these is among its scopes (`scope`, `scp`), roles (`roles`) or groups; `*` stands for every token; by default the scope `ptc:run`
           */
          "ptc:run"?: string[];
          /**
           * a token has this scope if one of these is among its scopes (`scope`, `scp`), roles (`roles`) or groups; `*` stands for every token; by default the scope `ptc:approve`
           */
          "ptc:approve"?: string[];
          /**
           * a token has this scope if one of these is among its scopes (`scope`, `scp`), roles (`roles`) or groups; `*` stands for every token; by default the scope `ptc:admin`
           */
          "ptc:admin"?: string[];
        };
        /**
         * the scopes that ptc tells clients to request; by default ptc's own scopes that are not mapped
         */
        request_scopes?: string[];
        login?: {
          /**
           * ptc's own client at the issuer, whose redirect URIs are `PUBLIC_URL/logins/who` and, for the console, `/console/callback` of the same host: people who use a browser log in there
           */
          client_id: string;
          /**
           * the client's secret; a value as for `servers[].env`. A public client has none
           */
          client_secret?: string | { [key: string]: unknown };
          /**
           * the scopes to request besides `openid`, such as `profile`, so that the ID token contains the person's name and groups
           */
          scopes?: string[];
        };
        introspection?: {
          /**
           * ptc's own client at the issuer, for introspecting opaque tokens
           */
          client_id: string;
          /**
           * the client's secret; a value as for `servers[].env`
           */
          client_secret: string | { [key: string]: unknown };
          /**
           * the introspection endpoint; by default that in the issuer's metadata
           */
          url?: string;
          /**
           * how long an answer is cached, and thus how long a revoked token may still be accepted
           */
          cache_seconds?: number;
        };
      }[];
      /**
       * whether tokens of `ptc token create` are accepted
       */
      tokens?: boolean;
    };
  } | null;
  notify?: {
    webhook?: {
      /**
       * the URL that receives each question as JSON; https, or http on this machine; a value as for `servers[].env`
       */
      url: string | { [key: string]: unknown };
      /**
       * the key that signs it (Standard Webhooks): `whsec_` and 24 to 64 bytes in base64; a value as for `servers[].env`
       */
      secret: string | { [key: string]: unknown };
    };
    slack?: {
      /**
       * the incoming webhook of a Slack app; a value as for `servers[].env`
       */
      url: string | { [key: string]: unknown };
      /**
       * the app's signing secret: messages then have buttons, whose answers Slack posts to `/notify/slack` of `ptc serve --http`; a value as for `servers[].env`
       */
      signing_secret?: string | { [key: string]: unknown };
      /**
       * who may answer in Slack: maps member IDs to principals, such as `U024BE7LH: https://login.example.com#ada`, or to `principal` and `groups`. They may answer their own questions, and those that a rule permits them to `approve`. Without `groups`, a rule that forbids something to a group known only from logins applies to them
       */
      approvers?: {
        [k: string]:
          | string
          | {
              principal: string;
              groups: string[];
            };
      };
    };
    /**
     * a program and its arguments, run for each question, which it reads as JSON from standard input
     */
    command?: string[];
    /**
     * how long a question waits in a client before ptc notifies others; for a suspended run, ptc notifies at once
     */
    after_seconds?: number;
  } | null;
  storage?: {
    /**
     * a PostgreSQL database that keeps runs, the audit log, approvals, logins and learned types instead of files: `postgres://USER:PASSWORD@HOST/DATABASE`; a value as for `servers[].env`
     */
    url?: string | { [key: string]: unknown };
    /**
     * the key that encrypts logins and suspended runs in the database: 32 bytes in base64, as `openssl rand -base64 32` prints; in a list, the first encrypts and all decrypt; values as for `servers[].env`
     */
    encryption_key?: (string | { [key: string]: unknown })[] | (string | { [key: string]: unknown });
  } | null;
}
