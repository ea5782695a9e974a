"""Say what would have to change for another answer.

Each number is found by deciding again on a changed copy of the snapshot: the change that is named
gives the answer that is named, and one less of it does not.
"""
