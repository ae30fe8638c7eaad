"""What cluster schedulers read of `tangram frontier`.

    python3 -m tangram_schedulers gavel gpt=frontier.json -o throughputs.json

Needs nothing but Python. See docs/schedulers.md.
"""
