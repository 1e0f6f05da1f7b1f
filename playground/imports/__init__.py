"""What can be taken in from elsewhere: settings of other trainers become ours (`importing`), their logs are judged as
far as they can be (`judging`). Files are parsed as text and syntax tree, never run. Called by the command line."""
