/** The keys of `ptc.yaml`, as types. Made from configuration/settings: `node scripts/docs.ts`. */

/** A configuration as an object: the keys of a `ptc.yaml`. */
export interface PtcConfig {
  /**
   * the MCP servers whose tools programs can call
   */
  servers?:
    | {
        /**
         * its name. In code it is in snake_case, where no two may be the same
         */
        name: string;
        /**
         * what the server is for; models read it
         */
        description?: string;
        /**
         * how it is reached: `stdio` by default where there is a `command`, `http` (Streamable HTTP) where there is a `url`
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
         * its environment, beside a minimal one. A value is a text, in which variables are expanded, or names its source
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
         * its address, over HTTP
         */
        url?: string;
        /**
         * what is sent with each request; values as for `env`. Under the name `*` a source names the headers itself, as a JSON object; a command is then run for each connection
         */
        headers?: {
          [k: string]: string | { [key: string]: unknown };
        };
        /**
         * folders that ptc names to it
         */
        roots?: string[];
        /**
         * a description of an HTTP API, whose operations are the tools: a file or a URL, OpenAPI 3 or Swagger 2.0
         */
        openapi?: string;
        /**
         * where the API of `openapi` is; by default where its description says
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
           * the certificate in PEM, with those that it needs; values as for `env`, such as `{ file: client.pem }`
           */
          cert: string | { [key: string]: unknown };
          /**
           * its key in PEM, without a passphrase
           */
          key: string | { [key: string]: unknown };
        };
        /**
         * the operations of `openapi` that are tools; by default all. Each is a name, or `{ tag, path, operation, method }`; `*` is a wildcard
         */
        include?: (
          | {
              /**
               * a tag of the operation
               */
              tag?: string;
              /**
               * its path, as the description writes it
               */
              path?: string;
              /**
               * its `operationId`, or the name of its tool
               */
              operation?: string;
              /**
               * its HTTP method
               */
              method?: "get" | "put" | "post" | "delete" | "options" | "head" | "patch";
            }
          | string
        )[];
        /**
         * the operations of `openapi` that are no tools
         */
        exclude?: (
          | {
              /**
               * a tag of the operation
               */
              tag?: string;
              /**
               * its path, as the description writes it
               */
              path?: string;
              /**
               * its `operationId`, or the name of its tool
               */
              operation?: string;
              /**
               * its HTTP method
               */
              method?: "get" | "put" | "post" | "delete" | "options" | "head" | "patch";
            }
          | string
        )[];
        /**
         * how ptc logs in to it; `none` never does
         */
        auth?:
          | {
              /**
               * `oauth`: a person logs in; `client_credentials`: a machine does; `none`: nobody does. It may be missing beside `token_exchange` and `identity_assertion`, and is what counts where the caller has no token
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
                 * the id of ptc's client there
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
                 * what the new token is for, beside the server's URL as `resource`
                 */
                audience?: string;
                /**
                 * whether the server's URL is sent as `resource` (RFC 8707)
                 */
                resource?: boolean;
                /**
                 * whether ptc shows a token of its own (`client_credentials`), so that the new one says in `act` who acts
                 */
                actor?: boolean;
              };
              /**
               * the same across organisations: ptc exchanges the token of the caller for an assertion of who it is (ID-JAG), with which the server's own authorization server gives a token (RFC 7523); `client_id` and `client_secret` of `auth` are ptc's client at that one
               */
              identity_assertion?: {
                /**
                 * the authorization server that exchanges tokens; ptc sends the caller's token nowhere else
                 */
                issuer: string;
                /**
                 * the id of ptc's client there
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
               * the id of a client that is registered already
               */
              client_id?: string;
              /**
               * the client's secret; a value as for `env`. It needs `issuer`, and goes nowhere else
               */
              client_secret?: string | { [key: string]: unknown };
              /**
               * the scopes to ask for, instead of those that the server names
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
               * the host of the redirect
               */
              callback_host?: "127.0.0.1" | "localhost";
              /**
               * the port of the redirect; by default a free one
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
         * accounts of it by name, each with credentials of its own: its tools then take the argument `account` ([docs](servers.md#several-accounts))
         */
        accounts?: {
          [k: string]: {
            /**
             * variables of this account beside those of the server; values as for `env`
             */
            env?: {
              [k: string]: string | { [key: string]: unknown };
            };
            /**
             * headers of this account beside those of the server; values as for `env`
             */
            headers?: {
              [k: string]: string | { [key: string]: unknown };
            };
          };
        };
        /**
         * what its results carry; `{ label: L, unless: { ARGUMENT: PATTERN } }` (or `when`) for calls with other arguments alone
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
         * what the fields of its results carry, where that is not the same: paths such as `messages[].body` to labels, `*` for all others (by default `labels`)
         */
        results?: {
          [k: string]: string[];
        };
        /**
         * which labels may flow into it; by default all. Or a mapping of its arguments, `*` for all others and `()` for whether the call is made, each to labels or to `{ labels, lists, named, said }`
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
           * kinds that ptc does not redact in a run that reads from this server, and from no server that does not allow them
           */
          allow?: ("email" | "phone" | "card" | "iban" | "national_id" | "ip")[] | null;
        } | null;
        /**
         * the same for single tools
         */
        tools?: {
          [k: string]: {
            /**
             * what the tool's results carry, instead of its server's labels
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
             * what the fields of its results carry, where that is not the same: paths such as `messages[].body` to labels, `*` for all others (by default `labels`)
             */
            results?: {
              [k: string]: string[];
            };
            /**
             * which labels may flow into the tool, instead of its server's
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
         * whether it may ask for answers of the client's model during a call, about each of which a person is asked ([docs](clients.md#answers-of-the-clients-model)); `off` by default
         */
        sampling?: "allow" | "off";
        /**
         * whether all principals share one connection to it, and on stdio one process. By default each principal has its own; share only servers that hold no personal data
         */
        shared?: boolean;
        /**
         * connections to it at a time, one for each principal; by default 64 where it is a process, else 1000. When there are as many, the one that was unused the longest ends for another
         */
        max_connections?: number;
        /**
         * calls to it at a time, of all principals together; by default 100. More wait, and principals take turns
         */
        max_parallel_calls?: number;
        /**
         * calls that wait for it; by default 1000. One more fails at once
         */
        max_queued_calls?: number;
        /**
         * instead of `execution.tool_call_timeout_seconds`
         */
        call_timeout_seconds?: number;
        /**
         * for starting or reaching it, and for each page of its tools. On stdio only time without progress counts, up to five minutes in all
         */
        connect_timeout_seconds?: number;
      }[]
    | null;
  tools?: {
    /**
     * patterns of the tools that programs may call, all others are blocked; not with `block`
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
           * what people read
           */
          title?: string;
          /**
           * what models and people read
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
           * of one call; by default `execution.tool_call_timeout_seconds`
           */
          timeout_seconds?: number;
          /**
           * how much it may print
           */
          max_output_bytes?: number;
          /**
           * its working folder, relative to the folder of ptc.yaml
           */
          cwd?: string;
          /**
           * its own variables; values as for `servers[].env`
           */
          env?: {
            [k: string]: string | { [key: string]: unknown };
          };
          /**
           * what its results carry; `{ label: L, unless: { ARGUMENT: PATTERN } }` (or `when`) for calls with other arguments alone
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
           * what the fields of its results carry, where that is not the same: paths such as `messages[].body` to labels, `*` for all others (by default `labels`)
           */
          results?: {
            [k: string]: string[];
          };
          /**
           * which labels may flow into it; by default all. Or a mapping of its arguments, `*` for all others and `()` for whether the call is made, each to labels or to `{ labels, lists, named, said }`
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
     * which tools need approval by default: `annotated`, those annotated as destructive; `destructive`, also those that say nothing of it
     */
    default?: "annotated" | "destructive";
    /**
     * patterns of tools that need approval as well
     */
    ask?: string[] | null;
    /**
     * patterns of tools that never need one
     */
    allow?: string[] | null;
    /**
     * an interceptor that may answer in the place of a person: [docs](policy.md#a-reviewer)
     */
    reviewer?: {
      /**
       * the name of an interceptor that has `question` in its `on`
       */
      by: string;
      /**
       * patterns of the tools about which it may answer; a tool that does not say that it destroys nothing has to be named without `*`
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
     * whether a run is suspended when its question outlasts the client's patience; otherwise the call is denied
     */
    suspend?: boolean;
    /**
     * a suspended run expires after this time
     */
    expire_minutes?: number;
  } | null;
  /**
   * rules in Cedar; a list of files is short for `files`
   */
  policy?:
    | {
        /**
         * files of rules. Where there are any, what no rule permits is denied
         */
        files?: string[] | null;
        /**
         * groups and their principals, for rules
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
     * what happens to a call with a value that its argument does not accept: `ask` asks a person
     */
    refused?: "deny" | "ask";
    /**
     * `careful`: a person is asked about each change that labelled data may have decided
     */
    preset?: "none" | "careful";
    /**
     * names of `lists` whose values, such as ids, a model may see without taking on their labels
     */
    plain?: string[] | null;
  } | null;
  /**
   * named lists of patterns for `accepts`, `labels.plain` and rules; `*` stands for any characters but spaces and separators. `{ file: PATH }` reads one from each line
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
     * wall clock of one program
     */
    timeout_seconds?: number;
    /**
     * console text and envelope
     */
    max_output_bytes?: number;
    /**
     * what the reply of `ptc serve` shows a model of console text and result together; it reads the rest with `read_output`. Never more than `max_output_bytes`
     */
    max_reply_bytes?: number;
    /**
     * what a program may write with `console.error` and to stderr
     */
    max_stderr_bytes?: number;
    /**
     * of one call. Starting and listing its server counts, a person's time does not. Progress that the server reports starts the time again, up to ten times
     */
    tool_call_timeout_seconds?: number;
    /**
     * of one program; more wait their turn
     */
    max_parallel_calls?: number;
    /**
     * of one program
     */
    max_tool_calls?: number;
    /**
     * programs that run at a time; by default two for each core if the memory is enough
     */
    max_parallel_programs?: number;
    /**
     * programs of one principal that wait for their turn, in the order of arrival; one more fails with `Busy`. Principals take turns
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
     * processes of one program, beside those of gVisor itself
     */
    pids?: number;
    /**
     * `error`: a mistake stops the program; `warn`: the reply says so
     */
    typecheck?: "error" | "warn" | "off";
    /**
     * an answer that contradicts its tool's output schema: `warn`: the program gets it, and the run a warning; `error`: the call fails, and its error has the answer
     */
    schema_mismatch?: "warn" | "error";
  } | null;
  limits?: {
    /**
     * all principals together
     */
    together?: {
      /**
       * programs at a time; more wait for their turn
       */
      max_parallel_programs?: number;
      /**
       * programs that begin in one minute of the clock; one more fails with `Busy`, which says when to try again
       */
      max_programs_per_minute?: number;
      /**
       * calls of programs in one minute of the clock; one more fails, and says when to try again
       */
      max_calls_per_minute?: number;
      /**
       * processor time of programs in one day of UTC: the time that each runs, with its waits for tools and without those for people, times `execution.cpus`; counted at its end
       */
      max_cpu_seconds_per_day?: number;
      /**
       * what tools answer in one day of UTC
       */
      max_result_bytes_per_day?: number;
    } | null;
    /**
     * each principal
     */
    each?: {
      /**
       * programs at a time; more wait for their turn
       */
      max_parallel_programs?: number;
      /**
       * programs that begin in one minute of the clock; one more fails with `Busy`, which says when to try again
       */
      max_programs_per_minute?: number;
      /**
       * calls of programs in one minute of the clock; one more fails, and says when to try again
       */
      max_calls_per_minute?: number;
      /**
       * processor time of programs in one day of UTC: the time that each runs, with its waits for tools and without those for people, times `execution.cpus`; counted at its end
       */
      max_cpu_seconds_per_day?: number;
      /**
       * what tools answer in one day of UTC
       */
      max_result_bytes_per_day?: number;
    } | null;
    /**
     * groups, of `policy.groups` and of logins: `together` is what the members of a group may use together, `each` what each of them may instead of `limits.each`; for a member of several groups the most generous counts
     */
    groups?: {
      [k: string]: {
        together?: {
          /**
           * programs at a time; more wait for their turn
           */
          max_parallel_programs?: number;
          /**
           * programs that begin in one minute of the clock; one more fails with `Busy`, which says when to try again
           */
          max_programs_per_minute?: number;
          /**
           * calls of programs in one minute of the clock; one more fails, and says when to try again
           */
          max_calls_per_minute?: number;
          /**
           * processor time of programs in one day of UTC: the time that each runs, with its waits for tools and without those for people, times `execution.cpus`; counted at its end
           */
          max_cpu_seconds_per_day?: number;
          /**
           * what tools answer in one day of UTC
           */
          max_result_bytes_per_day?: number;
        } | null;
        each?: {
          /**
           * programs at a time; more wait for their turn
           */
          max_parallel_programs?: number;
          /**
           * programs that begin in one minute of the clock; one more fails with `Busy`, which says when to try again
           */
          max_programs_per_minute?: number;
          /**
           * calls of programs in one minute of the clock; one more fails, and says when to try again
           */
          max_calls_per_minute?: number;
          /**
           * processor time of programs in one day of UTC: the time that each runs, with its waits for tools and without those for people, times `execution.cpus`; counted at its end
           */
          max_cpu_seconds_per_day?: number;
          /**
           * what tools answer in one day of UTC
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
         * programs at a time; more wait for their turn
         */
        max_parallel_programs?: number;
        /**
         * programs that begin in one minute of the clock; one more fails with `Busy`, which says when to try again
         */
        max_programs_per_minute?: number;
        /**
         * calls of programs in one minute of the clock; one more fails, and says when to try again
         */
        max_calls_per_minute?: number;
        /**
         * processor time of programs in one day of UTC: the time that each runs, with its waits for tools and without those for people, times `execution.cpus`; counted at its end
         */
        max_cpu_seconds_per_day?: number;
        /**
         * what tools answer in one day of UTC
         */
        max_result_bytes_per_day?: number;
      } | null;
    };
  } | null;
  sessions?:
    | {
        /**
         * sessions at a time; without `sessions` there are none
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
     * what starts sandboxes: `docker`, gVisor's `runsc` alone, a `kubernetes` cluster, `wasm` (an interpreter in a process of ptc, a [weaker wall](engines.md#an-interpreter-in-webassembly)), or with `auto` what is there, Docker first and never a cluster or `wasm`; by default what the variable `PTC_ENGINE` says, and else `auto`
     */
    engine?: "auto" | "docker" | "runsc" | "kubernetes" | "wasm";
    /**
     * the container runtime; any other than runsc needs `allow_weaker_isolation`
     */
    runtime?: string;
    /**
     * the image that programs run in; `ptc-runner` is the one that ptc builds for what this project needs, and any other name is taken as it is
     */
    image?: string;
    /**
     * the fewest sandboxes that are kept started while programs come; before the first, one is, once a client is there; when neither has come for three minutes they end; none is replaced while all processors are used; 0 turns the pool off
     */
    warm?: number;
    /**
     * the most that are kept while programs arrive often; by default four for each core if the memory is enough
     */
    max_warm?: number;
    /**
     * how programs reach ptc; `auto`: by a socket where the engine can mount one, or by a connection to the pod where there are certificates, otherwise attached to the container
     */
    channel?: "auto" | "socket" | "attached";
    /**
     * whether MCP servers that are commands run in sandboxes too: `required` for all; `wanted` for all, but as processes of this machine where no engine is; `off` only for those whose own `sandbox` says so
     */
    servers?: "required" | "wanted" | "off";
    /**
     * packages of Debian for programs in Python; `ptc image build` adds them to the image
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
       * what the names of the SandboxWarmPools begin with; `-javascript` or `-python` follows
       */
      template?: string;
      /**
       * a context of the kubeconfig; by default its current one
       */
      context?: string;
      /**
       * a file as for `kubectl`; by default what the variable KUBECONFIG says, ~/.kube/config, or in a pod its service account
       */
      kubeconfig?: string;
      /**
       * a folder with ca.crt, tls.crt and tls.key, for connections to pods; without it programs reach ptc through the API server
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
       * an OpenAI-compatible API whose embeddings find tools by meaning too; the base, such as `http://127.0.0.1:11434/v1`
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
       * how long a search waits for it
       */
      timeout_seconds?: number;
    };
    rerank?: {
      /**
       * an OpenAI-compatible API whose model chooses from the best 30 tools; the base
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
       * how long a search waits for it
       */
      timeout_seconds?: number;
    };
  } | null;
  extract?: {
    /**
     * where the model is: the base of an API, such as `https://host/v1`
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
     * which API it is; by default the URL decides
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
     * what its results carry; `{ label: L, unless: { ARGUMENT: PATTERN } }` (or `when`) for calls with other arguments alone
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
     * what the fields of its results carry, where that is not the same: paths such as `messages[].body` to labels, `*` for all others (by default `labels`)
     */
    results?: {
      [k: string]: string[];
    };
    /**
     * which labels may flow into it; by default all. Or a mapping of its arguments, `*` for all others and `()` for whether the call is made, each to labels or to `{ labels, lists, named, said }`
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
       * kinds that the model gets unredacted; for others it gets marks
       */
      allow?: ("email" | "phone" | "card" | "iban" | "national_id" | "ip")[] | null;
    } | null;
  };
  pii?:
    | {
        /**
         * kinds of personal data that ptc redacts in what leaves a run; `pii: [...]` is short for it
         */
        redact?: ("email" | "phone" | "card" | "iban" | "national_id" | "ip")[] | null;
        /**
         * ISO 3166-1 codes of the countries whose phone numbers ptc recognises without a `+`, and whose national ids it looks for
         */
        countries?: string[] | null;
      }
    | (string[] | null);
  /**
   * which tools `ptc serve` lists beside its own: `auto`, all where they cost less than 2 % of a context of 200,000 tokens and no call is decided by what its run has read; `direct`, all, and clients also get everything else that servers offer: [docs](clients.md#all-that-servers-offer); `search`, none
   */
  discovery?: "auto" | "search" | "direct";
  direct?:
    | {
        /**
         * servers and tools that are always listed: a server's name, `<server>.<tool>`, or a pattern of `mcp__<server>__<tool>`; `direct: [...]` is short for it
         */
        tools?: string[] | null;
        /**
         * what rules see as one run: all direct calls of a `conversation`, or each `call` by itself: [docs](clients.md#a-conversation-is-a-run)
         */
        runs?: "conversation" | "call";
      }
    | (string[] | null);
  /**
   * checks of others, which are asked about calls and their results: [docs](policy.md#checks-of-others)
   */
  interceptors?:
    | {
        /**
         * what the audit log calls it: `interceptors.NAME`
         */
        name: string;
        /**
         * what it is asked about: a `call` before it is made, its `result` before anybody gets it; as the [reviewer](policy.md#a-reviewer), a `question` before a person is
         */
        on?: ("call" | "result" | "question")[];
        /**
         * patterns of the tools that it is asked about; by default all
         */
        tools?: string[] | null;
        /**
         * where it is asked by a POST of JSON; https, or http on this machine; a value as for `servers[].env`
         */
        url?: string | { [key: string]: unknown };
        /**
         * what signs the request, as Standard Webhooks has it: `whsec_` and 24 to 64 bytes in base64; a value as for `servers[].env`
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
         * what becomes of a call without a usable answer: `closed`, it is refused, or its result withheld; `open`, it goes on, and the audit log says so
         */
        fail?: "closed" | "open";
      }[]
    | null;
  /**
   * narrow endpoints, each with the tools that it has, as `direct.tools` names them: at `/mcp/NAME` over HTTP, with `ptc serve --toolset NAME` over stdio, and for tokens of `ptc token create --toolset NAME`: [docs](clients.md#narrow-endpoints)
   */
  toolsets?: {
    [k: string]: string[];
  };
  /**
   * whether ptc learns and uses types of results that tools do not declare: [learned types](learned-types.md)
   */
  learn?: boolean | ("on" | "off");
  /**
   * the audit log; `strict` is short for `strict: true`
   */
  audit?:
    | {
        /**
         * a call that may change something is sent only after its line is on the disk
         */
        strict?: boolean;
        /**
         * ptc begins another file at this size
         */
        max_file_mb?: number;
        /**
         * how long files are kept after their last line
         */
        keep_days?: number;
        /**
         * where a copy goes as RFC 5424: `udp://HOST:PORT`, `tcp://HOST:PORT` or `unix:///PATH`
         */
        syslog?: string;
        /**
         * where a copy goes as OTLP log records
         */
        otlp?: string;
      }
    | ("strict" | null);
  archive?: {
    /**
     * the file that keeps runs, from the folder of ptc.yaml
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
       * a file with the certificate and those above it, in PEM; read again when it changes
       */
      cert: string;
      /**
       * a file with its private key, in PEM
       */
      key: string;
    };
    /**
     * addresses and networks of proxies that end TLS in front of ptc, whose `X-Forwarded-*` count
     */
    trusted_proxies?: string[] | null;
    /**
     * how long programs may go on after SIGTERM
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
         * what a token must be for (`aud`), one of these; by default `http.public_url`
         */
        audience?: string | string[];
        /**
         * the algorithms that may sign its tokens
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
         * how far its clock may be from this machine's
         */
        clock_skew_seconds?: number;
        /**
         * where its keys are; by default what its metadata says
         */
        jwks_url?: string;
        /**
         * the claim that identifies a person and never changes
         */
        subject?: string;
        /**
         * the claim with a name for people; by default `name`, `preferred_username` or `email`
         */
        name?: string;
        /**
         * the claim with a person's groups; a dot leads into an object
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
         * the scopes that clients are told to ask for; by default those of ptc that are not mapped
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
           * what the client asks for besides `openid`: the scopes by which the issuer says somebody's name and groups in their ID token, such as `profile`
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
           * the introspection endpoint; by default what the issuer's metadata says
           */
          url?: string;
          /**
           * how long an answer is kept, and so how long a revoked token still counts
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
       * who may answer there: member IDs of Slack, each with its principal, such as `U024BE7LH: https://login.example.com#ada`, or with `principal` and the `groups` that logins say; own questions, and those that a rule permits to `approve`. Without `groups`, what forbids something to a group that only logins say is forbidden to them
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
     * a program and its arguments that is run for each question, with it as JSON on standard input
     */
    command?: string[];
    /**
     * how long a question waits in a client before ptc notifies others; for a suspended run it notifies at once
     */
    after_seconds?: number;
  } | null;
  storage?: {
    /**
     * a PostgreSQL that keeps runs, the audit log, approvals, logins and learned types instead of files, as `postgres://USER:PASSWORD@HOST/DATABASE`; a value as for `servers[].env`
     */
    url?: string | { [key: string]: unknown };
    /**
     * the key that encrypts logins and suspended runs there: 32 bytes in base64, as `openssl rand -base64 32` prints them; of a list the first encrypts, and all decrypt; values as for `servers[].env`
     */
    encryption_key?: (string | { [key: string]: unknown })[] | (string | { [key: string]: unknown });
  } | null;
}
