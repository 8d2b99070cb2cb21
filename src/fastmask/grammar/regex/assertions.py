"""x"""
def assertion_dfa(tree): raise NotImplementedError
