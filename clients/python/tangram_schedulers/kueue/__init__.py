"""An AdmissionCheck controller of Kueue. See docs/schedulers.md.

    python3 -m tangram_schedulers.kueue --cluster cluster.yaml --flavor h100=h100
"""
