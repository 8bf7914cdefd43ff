package main

const mintHelp = `Hand out upload requests to clients that hold no credentials, and make the calls
around them with the credentials that are here: chunkup cp --mint-url, and any Uppy
front end, for the service speaks the protocol of Uppy's Companion. The bytes go from
the clients to the store and never through the service.

Who may upload is in --token-file, one token a line:

  # comments, and empty lines
  TOKEN
  NAME TOKEN prefix=incoming/NAME/ max-size=10GiB

A client sends its token as Authorization: Bearer TOKEN. Limits are counted by NAME,
and an upload is only for the name that began it. The service makes the keys: --prefix,
a random name and the file's; a caller with a prefix= may choose those that begin
with it. The file is read again when it changes; write it beside and rename it. With
--ticket-secret-file a backend that knows the secret lets clients in by tickets that
it signs.

It runs until it is interrupted, and lets calls end that have begun, for 10 s. Clients
go on with their uploads after a restart.

Every flag can also be set as CHUNKUP_ and its name in upper case with
underscores: CHUNKUP_TOKEN_FILE=tokens. A flag beats the environment.`

const mintExamples = `  chunkup mint --bucket uploads --token-file tokens --page
  chunkup mint --bucket uploads --prefix incoming/ --token-file tokens --max-size 10GiB \
    --listen :443 --tls-cert cert.pem --tls-key key.pem --cors-origin https://example.com
  chunkup mint --bucket demo --no-auth --endpoint-url http://127.0.0.1:9100`

const mintExits = `EXIT CODES
  0    interrupted, which is how it is meant to end
  1    the service could not be started, or ended by itself
  2    bad flags or values, or a file that cannot be used: nothing was served
  4    denied: no credentials found`
