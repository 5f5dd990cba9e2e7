; shared 0
; ModuleID = "kernel"
target triple = "unknown-unknown-unknown"
target datalayout = ""

define void @"part"(i64 %".1", i64 %".2", i64 %".3", i64 %".4", i64 %".5", i64 %".6")
{
entry:
  %".8" = inttoptr i64 %".2" to float addrspace(1)*
  %".9" = inttoptr i64 %".3" to float addrspace(1)*
  %".10" = inttoptr i64 %".4" to float addrspace(1)*
  br label %"body"
body:
  %".11" = call i64 @"thread"()
  %".12" = call i64 @"threads"()
  %".13" = mul i64 %".1", %".12"
  %".14" = add i64 %".13", %".11"
  %".15" = mul nsw i64 %".5", %".6"
  %".16" = icmp slt i64 %".14", %".15"
  br i1 %".16", label %"body.if", label %"body.endif"
body.if:
  %".18" = urem i64 %".14", %".5"
  %".19" = udiv i64 %".14", %".5"
  %".20" = getelementptr float, float addrspace(1)* %".9", i64 %".18"
  %".21" = load float, float addrspace(1)* %".20", !alias.scope !6, !noalias !7
  %".22" = mul nsw i64 %".5", %".19"
  %".23" = add nsw i64 %".18", %".22"
  %".24" = getelementptr float, float addrspace(1)* %".8", i64 %".23"
  %".25" = load float, float addrspace(1)* %".24", !alias.scope !4, !noalias !5
  %".26" = fadd float %".25", %".21"
  %".27" = call float @"llvm.maximum.f32"(float %".26", float              0x0)
  %".28" = mul nsw i64 %".5", %".19"
  %".29" = add nsw i64 %".18", %".28"
  %".30" = getelementptr float, float addrspace(1)* %".10", i64 %".29"
  store float %".27", float addrspace(1)* %".30", !alias.scope !8, !noalias !9
  br label %"body.endif"
body.endif:
  ret void
}

@"shared" = external addrspace(3) global [0 x i8]
declare i64 @"thread"()

declare i64 @"threads"()

declare void @"barrier"()

declare void @"warp_barrier"()

declare i32 @"shuffle"(i32 %".1", i32 %".2")

define i64 @"blocks"(i64 %".1", i64 %".2", i64 %".3", i64 %".4", i64 %".5")
{
entry:
  %".7" = call i64 @"threads"()
  %".8" = mul nsw i64 %".4", %".5"
  %".9" = sub i64 %".7", 1
  %".10" = add i64 %".8", %".9"
  %".11" = udiv i64 %".10", %".7"
  ret i64 %".11"
}

declare float @"llvm.maximum.f32"(float %".1", float %".2")

!0 = !{ !"mindlite" }
!1 = !{ !"argument 0", !0 }
!2 = !{ !"argument 1", !0 }
!3 = !{ !"argument 2", !0 }
!4 = !{ !1 }
!5 = !{ !2, !3 }
!6 = !{ !2 }
!7 = !{ !1, !3 }
!8 = !{ !3 }
!9 = !{ !1, !2 }